package main

import (
	"context"
	"errors"
	"strconv"
)

func port(number int32) string { return strconv.Itoa(int(number)) }

var groupSteps = []step{
	{"CommitOffsets", func(ctx context.Context, on target) error {
		_, err := on.CommitOffsets(ctx, on.group, offsets(on, 1))
		return err
	}},
	{"FetchOffsets", func(ctx context.Context, on target) error {
		_, err := on.FetchOffsets(ctx, on.group)
		return err
	}},
	{"FetchManyOffsets", func(ctx context.Context, on target) error {
		return on.FetchManyOffsets(ctx, on.group, on.group+"-other").Error()
	}},
	{"FindGroupCoordinators", func(ctx context.Context, on target) error {
		return on.FindGroupCoordinators(ctx, on.group, on.group+"-other").Error()
	}},
	{"FindTxnCoordinators", func(ctx context.Context, on target) error {
		return on.FindTxnCoordinators(ctx, on.id).Error()
	}},
	{"ListGroups", func(ctx context.Context, on target) error {
		_, err := on.ListGroups(ctx, "Empty", "Stable")
		return err
	}},
	{"ListGroupsByType", func(ctx context.Context, on target) error {
		_, err := on.ListGroupsByType(ctx, []string{"classic", "consumer"})
		return err
	}},
	{"DescribeGroups", func(ctx context.Context, on target) error {
		_, err := on.DescribeGroups(ctx, on.group, on.group+"-other")
		return err
	}},
	{"DescribeConsumerGroups", func(ctx context.Context, on target) error {
		_, err := on.DescribeConsumerGroups(ctx, on.group)
		return err
	}},
	{"Lag", func(ctx context.Context, on target) error {
		_, err := on.Lag(ctx, on.group)
		return err
	}},
	{"DescribeShareGroups", func(ctx context.Context, on target) error {
		_, err := on.DescribeShareGroups(ctx, on.share)
		return err
	}},
	{"AlterShareGroupOffsets", func(ctx context.Context, on target) error {
		_, err := on.AlterShareGroupOffsets(ctx, on.share, offsets(on, 1))
		return err
	}},
	{"DescribeShareGroupOffsets", func(ctx context.Context, on target) error {
		_, err := on.DescribeShareGroupOffsets(ctx, on.share)
		return err
	}},
	{"DeleteShareGroupOffsets", func(ctx context.Context, on target) error {
		_, err := on.DeleteShareGroupOffsets(ctx, on.share, on.topic)
		return err
	}},
	{"DescribeTransactions", func(ctx context.Context, on target) error {
		_, err := on.DescribeTransactions(ctx, on.id)
		return err
	}},
	{"ListTransactions", func(ctx context.Context, on target) error {
		_, err := on.ListTransactions(ctx, nil, []string{"Ongoing", "CompleteCommit"})
		return err
	}},
	{"DeleteOffsets", func(ctx context.Context, on target) error {
		_, err := on.DeleteOffsets(ctx, on.group, ofTopic(on))
		return err
	}},
	{"DeleteGroups", func(ctx context.Context, on target) error {
		responses, err := on.DeleteGroups(ctx, on.group, on.group+"-other")
		return errors.Join(err, responses.Error())
	}},
}
