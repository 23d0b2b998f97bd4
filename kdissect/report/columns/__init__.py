"""The columns of tables: which there are, what stands in them, which give way where there is little room."""
