// Built into FerretDB's package `sqlite` (see `tests/servers/mongodb.py`): what SQLite can tell.
//
// FerretDB 1 asks SQLite for all documents of a collection, unless a filter is an `_id` and nothing
// else, and decodes and judges each of them. What is said here leaves out documents that cannot
// match, and never one that can: FerretDB judges the rest as before.
package sqlite

import (
	"fmt"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

var comparisons = map[string]string{"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$eq": "="}

// narrowed says in SQL what a filter asks of top-level fields, as far as it can be said.
func narrowed(filter *types.Document) (string, []any) {
	var all []string
	var args []any
	for _, field := range filter.Keys() {
		if strings.ContainsAny(field, "$.'\"") {
			continue
		}
		value := must.NotFail(filter.Get(field))
		wanted, given := wantedOf(field, value)
		all = append(all, wanted...)
		args = append(args, given...)
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

func wantedOf(field string, value any) ([]string, []any) {
	operators, ok := value.(*types.Document)
	if !ok {
		return compared(field, "=", value)
	}
	var all []string
	var args []any
	for _, operator := range operators.Keys() {
		value := must.NotFail(operators.Get(operator))
		var wanted []string
		var given []any
		if sign := comparisons[operator]; sign != "" {
			wanted, given = compared(field, sign, value)
		} else if operator == "$in" {
			wanted, given = among(field, value)
		}
		all = append(all, wanted...)
		args = append(args, given...)
	}
	return all, args
}

func compared(field, sign string, value any) ([]string, []any) {
	if id, ok := identity(field, value); ok && sign == "=" {
		return []string{metadata.IDColumn + " = ?"}, []any{id}
	}
	if !isPlain(value) {
		return nil, nil
	}
	return []string{either(field, sign+" ?")}, []any{value}
}

func among(field string, value any) ([]string, []any) {
	values, ok := value.(*types.Array)
	if !ok || values.Len() == 0 || values.Len() > 500 {
		return nil, nil
	}
	var args, ids []any
	for i := 0; i < values.Len(); i++ {
		one := must.NotFail(values.Get(i))
		if !isPlain(one) {
			return nil, nil
		}
		args = append(args, one)
		if id, ok := identity(field, one); ok {
			ids = append(ids, id)
		}
	}
	marks := "IN (" + strings.TrimSuffix(strings.Repeat("?,", len(args)), ",") + ")"
	if len(ids) == len(args) {
		return []string{metadata.IDColumn + " " + marks}, ids
	}
	return []string{either(field, marks)}, args
}

// identity is the text of an `_id` in its index; numbers may be written in several ways.
func identity(field string, value any) (string, bool) {
	if field != "_id" {
		return "", false
	}
	switch value.(type) {
	case string, types.ObjectID:
		return string(must.NotFail(sjson.MarshalSingleValue(value))), true
	}
	return "", false
}

// either takes arrays too, as each of their elements may be meant.
func either(field, condition string) string {
	column := metadata.DefaultColumn
	return fmt.Sprintf(`(%[1]s->>'$."%[2]s"' %[3]s OR json_type(%[1]s, '$."%[2]s"') = 'array')`,
		column, field, condition)
}

// isPlain: SQLite and MongoDB order these alike, among themselves.
func isPlain(value any) bool {
	switch value.(type) {
	case string, int32, int64:
		return true
	}
	return false
}
