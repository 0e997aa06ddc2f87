import { openCatalog } from '../../../dist/tabularium/index.js'
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

/** Records a version as Lance's writers do, who write the manifest themselves. */
const record = (table: string, version: number) =>
  catalog.createTableVersion({
    id: ['prod', table],
    version,
    manifest_path: `_versions/${who}-${next++}.manifest`,
    manifest_size: 2048,
  })
const latestOf = async (table: string) => {
  const found = await catalog.describeTable({ id: ['prod', table], load_detailed_metadata: true })
  return { version: found.version ?? 0 }
}
/** The latest version of each table, with those that are on their way. Who is refused is told the next one. */
const lines = new Map<string, Promise<{ version: number }>>()
async function recordNext(table: string) {
  for (;;) {
    const line = lines.get(table) ?? latestOf(table)
    lines.set(table, line)
    const latest = await line
    try {
      return await record(table, ++latest.version)
    } catch (error) {
      const { next_version } = error as { next_version?: number }
      if (next_version === undefined) throw error
      if (lines.get(table) === line) lines.set(table, Promise.resolve({ version: next_version - 1 }))
    }
  }
}

serveArena({
  declare: many(() => catalog.declareTable({ id: ['prod', `p${who}-${Date.now()}-${next++}`] })),
  describe: many((i) => catalog.describeTable({ id: ['prod', `d${(i * 7 + Number(who)) % tables}`] })),
  'commit on many': many((i) => own[i % callers]!()),
  'commit on one': many(() => one()),
  'record on many': many((i) => recordNext(`versions-${who}-${i % callers}`)),
  'record on one': many(() => recordNext('versions-shared')),
})
