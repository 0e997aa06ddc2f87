import { openCatalog } from '../../../dist/index.js'
import { type Runner, serveArena } from '../arena.ts'
import { inFlight, milliseconds } from '../measure.ts'

/* One of several servers of one catalog. Each contender does so many operations, and answers with milliseconds. */

const [location, content, who, callersGiven, tablesGiven] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]
const callers = Number(callersGiven)
const tables = Number(tablesGiven)
let next = 0

const catalog = await openCatalog(location, content === '' ? {} : { content })
const many =
  (work: (i: number) => unknown): Runner =>
  (times) =>
    milliseconds(() => inFlight(times, callers, async (i) => work(i)))
/** A change of metadata writes a manifest and no rows: what is measured is the commit. */
const commit = (table: string) => () =>
  catalog.updateTableSchemaMetadata({ id: ['prod', table], metadata: { by: `${who} ${next++}` } })
const own = Array.from({ length: callers }, (_, i) => commit(`rows-${who}-${i}`))
const one = commit('rows-shared')

serveArena({
  declare: many(() => catalog.declareTable({ id: ['prod', `p${who}-${Date.now()}-${next++}`] })),
  describe: many((i) => catalog.describeTable({ id: ['prod', `d${(i * 7 + Number(who)) % tables}`] })),
  'commit on many': many((i) => own[i % callers]!()),
  'commit on one': many(() => one()),
})
