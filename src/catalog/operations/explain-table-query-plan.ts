import * as v from 'valibot'
import {
  branch,
  flag,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
} from '../../base/model/fields.ts'
import { queryErrors, queryFields, queryIgnores, queryOptionsOf } from '../rows/query.ts'
import { readTable } from '../rows/read.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const { id: _, identity: __, context: ___, ...fields } = queryFields

/**
 * Explains how a query would be run, without running it: what is scanned, and what statistics of columns leave out. Each
 * line is a step, and works on what the lines below it give.
 */
export const explainTableQueryPlan = operation({
  name: 'explainTableQueryPlan',
  summary: 'Explain how a query would be run.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    query: v.object(
      { ...fields, id: v.nullish(v.unknown()), ...tuning() },
      'must be an object with the fields of a query',
    ),
    verbose: v.nullish(flag),
  }),
  response: v.object({ ...responseFields, plan: text }),
  errors: queryErrors,
  changes: false,
  route: post('/v1/table/{id}/explain_plan', { answer: 'plan', rows: true }),
  command: {
    group: 'Rows',
    aliases: ['explain'],
    options: {
      query: 'the query, as JSON: {"filter":"delay > 60"}',
    },
    examples: [`./catalog prod.flights --query '{"filter":"delay > 60"}'`],
  },
  run: async (core, { id, branch, query }, { signal }) => {
    const asked = queryOptionsOf({ ...query, id }, core.settings)
    const wanted = { ...query, branch: query.branch || branch }
    const lines = await readTable(core, id, wanted, (rows) => rows.explain({ ...asked, signal }))
    return { plan: `${lines.join('\n')}\n` }
  },
})

/** The fields that a query ignores, which stand inside of another object here. */
function tuning() {
  const ignored = v.nullish(v.unknown())
  return Object.fromEntries(queryIgnores.map((name) => [name, ignored])) as Record<
    (typeof queryIgnores)[number],
    typeof ignored
  >
}
