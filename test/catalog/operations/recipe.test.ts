import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { asking } from '../../server/support/ask.ts'
import { forNode } from '../../support/bundle.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { folderOfRun } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'

// The package is bundled, and loaded once more.
limitEach(60)

/*
 * How an operation is added: a file of its own, and its line in the record. That is done here with a made-up one, to
 * a copy of the sources, and everything else must know it then.
 */

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Adds the operation to the record. */
const inRecord: Plugin = {
  name: 'one more operation',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]catalog[\\/]operations[\\/]index\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const imported = "import { paintTable } from '../../../test/catalog/operations/recipe/paint-table.ts'\n"
      const contents = imported + source.replace('\n  batchCommitTables,\n', '$&  paintTable,\n')
      return { contents, loader: 'ts' }
    })
  },
}

type Everything = typeof import('./recipe/everything.ts')
type Fields = Readonly<Record<string, unknown>>
type Painting = { paintTable(request: Fields): Promise<Fields> }

const id = ['prod', 'flights']
const like = ['prod', 'trains']
const red = { coats: ['red'] }

/** Any catalog, with the method that its type does not have. */
function painting(catalog: object): Painting {
  return catalog as Painting
}

describe('an operation that has a file of its own and a line of the record', () => {
  let folder: string
  let everything: Everything

  beforeAll(async () => {
    // Within the package, so that its own package.json and the packages it depends on are found.
    folder = await mkdtemp(join(folderOfRun, 'recipe-'))
    const entry = join(root, 'test/catalog/operations/recipe/everything.ts')
    await build({
      entryPoints: [entry],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      plugins: [inRecord],
      ...forNode,
    })
    everything = await import(/* @vite-ignore */ pathToFileURL(join(folder, 'everything.mjs')).href)
  })

  async function withTable() {
    const catalog = await everything.openCatalog('memory:')
    onTestFinished(() => catalog.close())
    await catalog.createNamespace({ id: ['prod'] })
    await catalog.declareTable({ id })
    return catalog
  }

  it('is a method of every handle', async () => {
    const catalog = await withTable()
    expect(await painting(catalog).paintTable({ id, color: 'red' })).toStrictEqual(red)
    expect(await painting(catalog.fork()).paintTable({ id, color: 'red' })).toStrictEqual(red)
    await expect(painting(catalog).paintTable({ id })).rejects.toThrow('paintTable: color is missing.')
  })

  it('has a route, and its caller is asked about every table that it names', async () => {
    const asked: unknown[] = []
    const handler = await everything.fetchHandler(await withTable(), {
      auth: false,
      authorize: (_principal, operation, id) => void asked.push([operation, id]),
    })
    onTestFinished(() => handler.close())
    const ask = asking(handler, 'http://localhost')
    const answer = await ask('POST', '/v1/table/prod$flights/paint?gloss=high', { color: 'red', like })
    expect([answer.status, answer.json]).toStrictEqual([200, { coats: ['red', 'high'] }])
    expect(asked).toStrictEqual([
      ['paintTable', id],
      ['describeTable', like],
    ])
    expect((await ask('GET', '/v1/table/prod$flights/paint')).status).toBe(405)
    expect((await ask('POST', '/v1/table/prod$boats/paint', { color: 'red' })).status).toBe(404)
    expect((await ask('GET', '/metrics')).text).toContain('{operation="paintTable",status="200"} 1')
  })

  it('is a method of the client', async () => {
    const handler = await everything.fetchHandler(await withTable(), { auth: false })
    const client = everything.connect('http://localhost', { fetch: handler })
    onTestFinished(() => handler.close())
    const { context: _, ...response } = await painting(client).paintTable({ id, color: 'red', gloss: 'low' })
    expect(response).toStrictEqual({ coats: ['red', 'low'] })
  })

  it('is recorded by fakes, and fails there when a fault names it or a table of it', async () => {
    const fake = await everything.fakeCatalog({ seed: { prod: { flights: [{ delay: 1 }] } } })
    onTestFinished(() => fake.close())
    const named = fake.faults.add({ operation: 'paintTable' as never, fail: 'Throttling', times: 1 })
    const { paintTable } = painting(fake)
    await expect(paintTable({ id, color: 'red' })).rejects.toMatchObject({ code: 'Throttling' })
    const about = fake.faults.add({ table: like, fail: 'ServiceUnavailable' })
    expect(await paintTable({ id, color: 'red' })).toStrictEqual(red)
    await expect(paintTable({ id, color: 'red', like })).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    expect([named.fired, about.fired]).toStrictEqual([1, 1])
    expect(fake.calls.of('paintTable' as never)).toMatchObject([
      { request: { id, color: 'red' }, outcome: 'failed' },
      { request: { id, color: 'red' }, outcome: 'succeeded', response: red },
      { request: { id, color: 'red', like }, outcome: 'failed' },
    ])
  })

  it('is a command', async () => {
    const { run } = everything
    const location = join(await freshFolder(), 'catalog')
    expect(await run(['declare', location, 'flights'])).toMatchObject({ code: 0, err: '' })
    const painted = await run(['paint', location, 'flights', 'red', '--gloss', 'high'])
    expect(painted).toMatchObject({ code: 0, out: '{"coat":"red"}\n{"coat":"high"}\n', err: '' })
    expect((await run(['--help'])).out).toMatch(/\nTables:\n(?: .*\n)* {2}paint-table, paint /)
    const { out } = await run(['paint-table', '--help'])
    expect(out).toContain('Paint a table, like another one if wanted.')
    expect(out).toMatch(/--gloss <text> +how much it shines/)
    expect(out).toContain('$ tabularium paint ./catalog prod.flights red')
  })

  it('is in the OpenAPI document and in the table of operations', async () => {
    const { paths, components } = await everything.openApiDocument()
    expect(paths['/v1/table/{id}/paint']?.post).toMatchObject({
      operationId: 'PaintTable',
      summary: 'Paint a table, like another one if wanted.',
      requestBody: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/PaintTableRequest' } } },
      },
      responses: { 404: { description: expect.stringContaining('TableNotFound') } },
    })
    expect(components).toHaveProperty(['schemas', 'PaintTableResponse', 'properties', 'coats'])
    expect(everything.operationTable()).toContain(
      '| `paintTable` | Paint a table, like another one if wanted. | TableNotFound |',
    )
  })
})
