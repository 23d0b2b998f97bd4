module kdissect.invalid/record/driver

go 1.26.8
