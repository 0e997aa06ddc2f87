import * as v from 'valibot'
import { responseFields, text } from '../../base/model/fields.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { performance } from '../../base/time.ts'
import type { Progress, QueryStep } from '../../engine/table/index.ts'
import { queryErrors, queryFields, queryIgnores, queryNotes, queryOptionsOf } from '../rows/query.ts'
import { readTable } from '../rows/read.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Runs a query and answers with its plan, and the rows and the time of each step. The rows themselves are left out. */
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
  run: async (core, request, { signal, onProgress, [requestMemory]: memory }) => {
    const { id } = request
    const asked = queryOptionsOf(request, core.settings)
    return readTable(core, id, request, async (rows) => {
      const lines = await rows.explain({ ...asked, signal })
      const steps: QueryStep[] = []
      const started = performance.now()
      const wanted = {
        ...asked,
        maxBytes: core.settings.resultBytes,
        memory: memory?.hold,
        signal,
        onStep: (step: QueryStep) => steps.push(step),
        onProgress:
          onProgress &&
          (({ rowsDone, rowsTotal }: Progress) => onProgress({ rows: rowsDone, total: rowsTotal })),
      }
      const answer = await rows.query(wanted, true)
      let bytes = 0
      // A long answer is made in parts, none of which is kept.
      for await (const part of answer instanceof Uint8Array ? [answer] : answer) bytes += part.byteLength
      const elapsed = performance.now() - started
      const all = `AnalyzeExec verbose=true, metrics=[output_bytes=${bytes}, elapsed=${millis(elapsed)}]`
      return { analysis: `${[all, ...lines.map((line, i) => `  ${line}${metrics(steps, i)}`)].join('\n')}\n` }
    })
  },
})

/**
 * The measurements for a line of the plan. The first line makes the columns, and the second one is the last step that
 * finds rows.
 */
function metrics(steps: readonly QueryStep[], line: number): string {
  const step = line < 2 && steps.find(({ name }) => name === (line === 0 ? 'columns' : 'rows'))
  return step ? `, metrics=[output_rows=${step.rows}, elapsed_compute=${millis(step.milliseconds)}]` : ''
}

function millis(time: number): string {
  return `${time.toFixed(3)}ms`
}
