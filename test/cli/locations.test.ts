import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serverUrlOf } from '../../src/cli/location-argument.ts'
import { freshFolder } from '../support/catalogs.ts'
import { lines, run } from './run.ts'
import { overHttpServer } from './server.ts'

describe('an address without a scheme', () => {
  it.each([
    ['127.0.0.1:2333', 'http://127.0.0.1:2333'],
    ['127.0.0.1', 'http://127.0.0.1:2333'],
    ['localhost', 'http://localhost:2333'],
    ['localhost:80/', 'http://localhost:80'],
    ['LOCALHOST:80', 'http://LOCALHOST:80'],
    ['[::1]:2333', 'http://[::1]:2333'],
    ['./localhost', undefined],
    ['catalog', undefined],
    ['a/b:80', undefined],
    ['C:\\tables', undefined],
    ['localhost/x', undefined],
    ['127.0.0.1.txt', undefined],
  ])('%s means %s', (text, url) => {
    expect(serverUrlOf(text)).toBe(url)
  })

  it.each(['db.example:2333', 'server:80', '10.0.0.1:2333', '[fe80::1]:80'])(
    '%s may be elsewhere, and is refused with what to write',
    async (address) => {
      const { code, err } = await run(['list', address])
      expect([code, err]).toEqual([
        2,
        expect.stringContaining(`write https://${address} or http://${address}`),
      ])
    },
  )

  it('has a port that there is', async () => {
    expect((await run(['list', 'localhost:99999'])).err).toContain('from 1 to 65535')
    expect((await run(['list', '127.0.0.1:0'])).err).toContain('from 1 to 65535')
  })

  it('leads to the server there', async () => {
    const address = (await overHttpServer()).replace('http://', '')
    expect((await run(['declare', address, 't'])).err).toBe('')
    expect(lines(await run(['ls', address]))).toEqual([{ table: 't' }])
    expect((await run(['serve', address, '--no-auth'])).err).toContain('takes the directory of a catalog')
    expect((await run(['verify', address])).err).toContain('works on the directory of a catalog')
  })

  it('is a directory where there is one of that name', async () => {
    const folder = await freshFolder()
    const before = process.cwd()
    process.chdir(folder)
    onTestFinished(() => process.chdir(before))
    await mkdir(join(folder, 'localhost:1'))
    expect((await run(['declare', 'localhost:1', 't'])).err).toBe('')
    expect(lines(await run(['ls', join(folder, 'localhost:1')]))).toEqual([{ table: 't' }])
  })
})
