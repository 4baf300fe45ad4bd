// Built into FerretDB's package `sqlite` (see `tests/servers/mongodb.py`): what SQLite can tell.
//
// FerretDB 1 asks SQLite for all documents of a collection, unless a filter is an `_id` and nothing
// else, and decodes and judges each of them. What is said here leaves out documents that cannot
// match, and never one that can: FerretDB judges the rest as before.
//
// It says so in the words in which FerretDB makes its indexes, or SQLite would not use them. Who asks
// for documents by `_id` gets them in that order from SQLite, and no more than are taken: FerretDB
// would read all of them, and sort them. So there is one more index, of the values of `_id`.
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

// ordered is the order by `_id` that a `find` has asked for; see `ferretdb_program.py`.
func ordered(sort *types.Document, isCapped bool) string {
	order := prepareOrderByClause(sort)
	if isCapped {
		return order
	}
	return strings.Replace(order, metadata.RecordIDColumn, metadata.IDValue, 1)
}

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
	if field == "_id" { // is never an array
		return []string{metadata.IDValue + " " + sign + " ?"}, []any{value}
	}
	if text, ok := value.(string); ok && sign == "=" {
		return []string{written(field, "= ?")}, []any{inJSON(text)}
	}
	return []string{either(field, sign+" ?")}, []any{value}
}

func among(field string, value any) ([]string, []any) {
	values, ok := value.(*types.Array)
	if !ok || values.Len() == 0 || values.Len() > 500 {
		return nil, nil
	}
	var args, ids, texts []any
	for i := 0; i < values.Len(); i++ {
		one := must.NotFail(values.Get(i))
		if !isPlain(one) {
			return nil, nil
		}
		args = append(args, one)
		if id, ok := identity(field, one); ok {
			ids = append(ids, id)
		}
		if text, ok := one.(string); ok {
			texts = append(texts, inJSON(text))
		}
	}
	marks := "IN (" + strings.TrimSuffix(strings.Repeat("?,", len(args)), ",") + ")"
	if len(ids) == len(args) {
		return []string{metadata.IDColumn + " " + marks}, ids
	}
	if len(texts) == len(args) {
		return []string{written(field, marks)}, texts
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
		return inJSON(value), true
	}
	return "", false
}

func inJSON(value any) string {
	return string(must.NotFail(sjson.MarshalSingleValue(value)))
}

// written compares what JSON has for a field, which indexes are made of; arrays begin with `[`.
func written(field, condition string) string {
	column := fmt.Sprintf("%s->'%s'", metadata.DefaultColumn, field)
	return fmt.Sprintf(`(%[1]s %[2]s OR (%[1]s >= '[' AND %[1]s < '\'))`, column, condition)
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
