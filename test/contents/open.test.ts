import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { fileContent } from '../../src/contents/files/index.ts'
import { openCatalog, openContent } from '../../src/tabularium/index.ts'
import { refused } from '../../src/testing/suites/checks.ts'
import { bytesOf, text } from '../../src/testing/suites/content/trial.ts'
import { freshFolder } from '../support/catalogs.ts'
import { scriptPath } from '../support/scripts.ts'

const run = promisify(execFile)

/** Hooks of Node's loader, for which packages of vendors are not installed. */
const hooks = `
export async function resolve(name, context, next) {
  if (!/^@(aws|azure|google)/.test(name)) return next(name, context)
  throw Object.assign(new Error("Cannot find package '" + name + "' imported from here"), { code: 'ERR_MODULE_NOT_FOUND' })
}
`
const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
const withoutPackages = `import { register } from 'node:module'\nregister(${JSON.stringify(dataUrl(hooks))})`

test.each([
  ['s3://bucket/prefix', '@aws-sdk/client-s3'],
  ['az://container/prefix', '@azure/storage-blob'],
  ['gs://bucket/prefix', '@google-cloud/storage'],
])('content at %s needs a package, and its absence is told before anything is made', async (url, name) => {
  const folder = join(await freshFolder(), 'new')
  const hook = dataUrl(withoutPackages)
  const args = [
    '--import',
    hook,
    scriptPath('src/cli/index.ts'),
    'serve',
    folder,
    '--content',
    url,
    '--no-auth',
  ]
  const failed = await run(process.execPath, args, { env: { ...process.env, TABULARIUM_TOKEN: '' } }).catch(
    (error: { stderr: string }) => error,
  )
  expect(failed.stderr).toContain(
    `Content at ${url.split('/')[0]}// needs the package ${name}, which is not installed. Run npm install ${name}.`,
  )
  await expect(access(folder)).rejects.toThrow()
  // Nothing else needs it.
  const listed = await run(process.execPath, [
    '--import',
    hook,
    scriptPath('src/cli/index.ts'),
    'list',
    'memory:',
  ])
  expect(listed.stderr).toBe('')
})

test('rows may lie in another folder than the records', async () => {
  const [records, rows] = [await freshFolder(), await freshFolder()]
  {
    await using catalog = await openCatalog(records, { content: pathToFileURL(rows).href })
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  }
  await using again = await openCatalog(records)
  expect(await again.countTableRows({ id: ['t'] })).toEqual({ count: 1 })
  await expect(access(join(rows, 'tables'))).resolves.toBeUndefined()
  await expect(access(join(records, 'tables'))).rejects.toThrow()
})

test('a content that has a URL is opened by it elsewhere', async () => {
  const content = fileContent(join(await freshFolder(), 'with space'))
  await content.put('a/b', bytesOf('here'))
  expect(await text(await openContent(content.url!), 'a/b')).toBe('here')
  for (const url of ['', '/folder', 'http://server', 'constructor://x']) {
    const error = await refused(openContent(url), 'InvalidInput')
    expect(error.message).toMatch(/begins with file:.* or s3:/)
  }
})
