import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { performance } from '../base/time.ts'
import { type Catalog, CatalogError, openCatalog } from './index.ts'

/*
 * A demo of the catalog on real data: `npm start`, or `npm start -- DIRECTORY`. The catalog stays in the directory. In a
 * terminal, its page is shown in the end.
 */

const directory = resolve(process.argv[2] ?? 'catalog')
const commandLine = fileURLToPath(new URL('../cli/index.cjs', import.meta.url))

try {
  await walk()
  const program = relative('', commandLine)
  console.log(`
The catalog stays in ${directory}; its fragments are Arrow files that any Arrow tool opens.
Change it:   node ${program} open ${directory} --editable
Serve it:    node ${program} serve ${directory} --no-auth`)
  // A script waits for the end, and nobody would look at the page.
  if (process.stdin.isTTY && process.stdout.isTTY) await showPage()
  else console.log(`Look at it:  node ${program} open ${directory}`)
} catch (error) {
  console.error(error instanceof CatalogError ? `${error.code}: ${error.message}` : error)
  process.exitCode = 1
}

async function walk(): Promise<void> {
  console.log(`A catalog in ${directory}\n`)
  const flights = await timed('read the data set (vega-datasets: flights)', readFlights, (data) => size(data))
  await using catalog = await timed('openCatalog', () => openCatalog(directory))
  await timed('createNamespace tour (anew)', () =>
    catalog.createNamespace({ id: ['tour'], mode: 'Overwrite' }),
  )
  await timed('createNamespace tour$archive', () => catalog.createNamespace({ id: ['tour', 'archive'] }))
  const table = ['tour', 'flights']
  const moved = ['tour', 'archive', 'flights_2001']
  await timed(
    'createTable tour$flights',
    () => catalog.createTable({ id: table, data: flights, properties: { source: 'vega-datasets' } }),
    ({ version, location }) => `version ${version} at ${location}`,
  )
  await timed('createTableTag all', () => catalog.createTableTag({ id: table, tag: 'all', version: 1 }))

  heading('The nine operations')
  await timed('count rows', () => catalog.countTableRows({ id: table }), rows)
  await timed(
    'count rows   delay > 60',
    () => catalog.countTableRows({ id: table, predicate: 'delay > 60' }),
    rows,
  )
  await timed(
    'delete rows  delay > 60',
    () => catalog.deleteFromTable({ id: table, predicate: 'delay > 60' }),
    ({ version }) => `version ${version}`,
  )
  await timed('count rows   version 1', () => catalog.countTableRows({ id: table, version: 1 }), rows)
  await timed('count rows   latest', () => catalog.countTableRows({ id: table }), rows)
  await timed(
    'replace schema metadata',
    () => catalog.updateTableSchemaMetadata({ id: table, metadata: { unit: 'minutes' } }),
    ({ metadata }) => JSON.stringify(metadata),
  )
  await timed('update tag   all -> version 2', () =>
    catalog.updateTableTag({ id: table, tag: 'all', version: 2 }),
  )
  const { transaction_id } = await timed(
    'rename and move to tour$archive$flights_2001',
    () =>
      catalog.renameTable({
        id: table,
        new_table_name: 'flights_2001',
        new_namespace_id: ['tour', 'archive'],
      }),
    (renamed) => `transaction ${renamed.transaction_id}`,
  )
  await timed(
    'describe transaction',
    () => catalog.describeTransaction({ id: [transaction_id!] }),
    ({ status, properties }) => `${status}: ${properties.operation} of ${properties.subject}`,
  )
  await timed(
    'batch commit of three operations',
    () =>
      catalog.batchCommitTables({
        operations: [
          { declare_table: { id: ['tour', 'orders'] } },
          {
            create_table_version: {
              id: ['tour', 'orders'],
              version: 1,
              manifest_path: '_versions/1.manifest',
            },
          },
          { declare_table: { id: ['tour', 'scratch'] } },
        ],
      }),
    ({ results }) => `${results.length} results, all or none`,
  )
  await timed(
    'list tables  below tour, one a page',
    async () => {
      const pages: string[][] = []
      let page_token: string | null | undefined
      do {
        const page = await catalog.listTables({ id: ['tour'], limit: 1, page_token })
        pages.push(page.tables)
        page_token = page.page_token
      } while (page_token)
      return pages
    },
    (pages) => pages.flat().join(', '),
  )
  const { location } = await timed(
    'deregister   tour$archive$flights_2001',
    () => catalog.deregisterTable({ id: moved }),
    (deregistered) => `its content stays at ${deregistered.location}`,
  )

  heading('And back again')
  await timed('registerTable tour$flights', () => catalog.registerTable({ id: table, location }))
  await timed('count rows   by tag all', () => countByTag(catalog, table, 'all'), rows)
}

/** Shows the page of the catalog, which may not change it, until Ctrl+C. */
async function showPage(): Promise<void> {
  console.log('Look at it in the browser; Ctrl+C ends this:')
  // The page ends by itself at the signal, which both processes get.
  process.on('SIGINT', () => {})
  const page = spawn(process.execPath, [commandLine, 'open', directory], { stdio: 'inherit' })
  process.exitCode = (await once(page, 'exit'))[0] ?? 0
}

async function countByTag(catalog: Catalog, id: string[], tag: string): Promise<{ count: number }> {
  const { version } = await catalog.getTableTagVersion({ id, tag })
  return catalog.countTableRows({ id, version })
}

async function readFlights(): Promise<Uint8Array> {
  const built = createRequire(import.meta.url).resolve('vega-datasets')
  return readFile(resolve(built, '../../data/flights-200k.arrow'))
}

async function timed<T>(
  title: string,
  run: () => Promise<T>,
  describe: (result: T) => string = () => '',
): Promise<T> {
  const start = performance.now()
  const result = await run()
  const took = `${(performance.now() - start).toFixed(1)} ms`
  console.log(`${took.padStart(10)}  ${title.padEnd(46)} ${describe(result)}`.trimEnd())
  return result
}

function heading(title: string): void {
  console.log(`\n${title}`)
}

function rows({ count }: { count: number }): string {
  return `${count.toLocaleString('en')} rows`
}

function size(bytes: Uint8Array): string {
  return `${(bytes.byteLength / 1e6).toFixed(1)} MB of Arrow`
}
