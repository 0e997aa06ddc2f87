import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { numbered } from '../support/rows.ts'
import { run } from './run.ts'

async function filled(): Promise<{ readonly folder: string; readonly catalog: LocalCatalog }> {
  const folder = await freshFolder()
  const catalog = await openCatalog(folder)
  onTestFinished(() => catalog.close())
  await catalog.createNamespace({ id: ['prod'] })
  for (const name of ['flights', 'secrets'])
    await catalog.createTable({ id: ['prod', name], data: numbered(1) })
  return { folder, catalog }
}

it('a misspelt name is answered with the nearest one beside it', async () => {
  const { folder } = await filled()
  const nearOf = async (...args: string[]) => {
    const [command, ...rest] = args
    const { code, err } = await run([command!, folder, ...rest])
    expect(code).toBe(1)
    return /Did you mean (.*)\?$/m.exec(err)?.[1]
  }
  expect(await nearOf('describe', 'prod.flihgts')).toBe('prod.flights')
  expect(await nearOf('head', 'prod.flight')).toBe('prod.flights')
  expect(await nearOf('count', 'prod/flight', '--delimiter', '/')).toBe('prod/flights')
  expect(await nearOf('describe', 'pord.flights')).toBe('prod')
  expect(await nearOf('list', 'prot')).toBe('prod')
  expect(await nearOf('create', 'prdo.t', '--data', '[{"n":1}]')).toBe('prod')
  expect(await nearOf('clone', 'prod.copy', '--source', 'prod.flight')).toBe('prod.flights')
  expect(await nearOf('describe', 'prod.weather')).toBeUndefined()
  expect(await nearOf('describe', 'prod.f')).toBeUndefined()
  await run(['create', folder, 'u', '--data', '[{"n":1}]'])
  expect(await nearOf('describe', 't')).toBeUndefined()
})

it('a name that is hidden from the caller is not told', async () => {
  const { catalog } = await filled()
  const server = await serve(catalog, {
    auth: { tokens: ['a-token-of-everybody'] },
    authorize: (_principal, operation) => operation !== 'listTables',
    port: 0,
    log: false,
  })
  onTestFinished(() => server.close())
  const asked = ['describe', server.url, 'prod.secret', '--token', 'a-token-of-everybody']
  const { code, err } = await run(asked)
  expect(code).toBe(1)
  expect(err).toMatch(/^tabularium: TableNotFound: There is no table prod\.secret\./)
  expect(err).not.toContain('secrets')
})
