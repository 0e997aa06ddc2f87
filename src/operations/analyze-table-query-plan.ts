import * as v from 'valibot'
import { responseFields, text } from '../model/fields.ts'
import { queryErrors, queryFields, queryIgnores, queryNotes, queryOptionsOf } from '../rows/query.ts'
import { openVersion, whileThere } from '../rows/rows.ts'
import type { QueryStep } from '../table/index.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Runs a query and answers how: its plan, and the rows and the time of each step. The rows themselves are left out. */
export const analyzeTableQueryPlan = operation({
  name: 'analyzeTableQueryPlan',
  summary: 'Run a query, and tell rows and time of its steps.',
  request: v.object(queryFields),
  response: v.object({ ...responseFields, analysis: text }),
  ignores: [...queryIgnores, 'distributed_metrics'],
  errors: queryErrors,
  changes: false,
  route: post('/v1/table/{id}/analyze_plan', { answer: 'analysis', rows: true }),
  command: {
    group: 'Rows',
    aliases: ['analyze'],
    options: queryNotes,
    examples: [`./catalog prod.flights --where 'delay > 60' --limit 10`],
  },
  run: async (core, request, { signal, onProgress }) => {
    const { id } = request
    const asked = queryOptionsOf(request)
    const { table, engine, snapshot } = await openVersion(core, id, request)
    return whileThere(core, id, table, async () => {
      const lines = await engine.explainQuery(snapshot, { ...asked, signal })
      const steps: QueryStep[] = []
      const started = performance.now()
      const bytes = await engine.queryRows(snapshot, {
        ...asked,
        maxBytes: core.settings.resultBytes,
        signal,
        onStep: (step) => steps.push(step),
        onProgress:
          onProgress && (({ rowsDone, rowsTotal }) => onProgress({ rows: rowsDone, total: rowsTotal })),
      })
      const told = steps.map(
        ({ name, rows, milliseconds }) => `${name}: rows=${rows} time=${milliseconds.toFixed(2)} ms`,
      )
      const all = `whole query: bytes=${bytes.byteLength} time=${(performance.now() - started).toFixed(2)} ms`
      return { analysis: `${[...lines, '', ...told, all].join('\n')}\n` }
    })
  },
})
