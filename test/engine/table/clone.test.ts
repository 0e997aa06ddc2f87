import { expect, test } from 'vitest'
import { pathFrom, pathIn } from '../../../src/base/model/relative-path.ts'
import { seal } from '../../../src/base/model/sealed-json.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import type { ManifestBody } from '../../../src/engine/table/format/manifest.ts'
import { manifestText, refOf } from '../../../src/engine/table/format/manifest.ts'
import type { LoadedSnapshot } from '../../../src/engine/table/format/snapshot.ts'
import { type Snapshot, tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'

const rows = (count: number) => toArrowTable(Array.from({ length: count }, (_, n) => ({ n })))

async function cloned() {
  const content = memoryContent()
  const engine = tableEngine({ content, cacheBytes: 0 })
  await engine.create('roots/a/secret', await rows(2))
  const source = await engine.create('roots/a/source', await rows(5))
  const clone = await engine.shareRows('roots/clone', source)
  return { content, engine, source, clone }
}

test('a clone names the files of its source, by paths that lead out of its folder', async () => {
  const { engine, source, clone } = await cloned()
  expect(clone.manifest.bases).toEqual(['../a/source/'])
  const paths: string[] = []
  for await (const path of engine.reachable('roots/clone', [clone.manifest])) paths.push(path)
  const [file] = (source as LoadedSnapshot).body.tail
  expect(paths).toEqual([`roots/clone/${clone.manifest.path}`, `roots/a/source/${file!.path}`])
  const second = await engine.shareRows('elsewhere/deep/down', clone)
  expect(second.manifest.bases).toEqual(['../../../roots/a/source/'])
  expect(await engine.countRows(second, { predicate: 'n > 1' })).toBe(3)
})

test('a manifest that names other folders than its version may name is refused', async () => {
  const { content, engine, clone } = await cloned()
  const { bases: _, ...bare } = clone.manifest
  const says = /names files in "..\/a\/source\/", which its version may not name/
  await expect(engine.open('roots/clone', bare)).rejects.toThrow(says)
  await expect(engine.open('roots/clone', { ...bare, bases: ['../a/'] })).rejects.toThrow(says)
  const forged = async (change: (text: string) => string, bases: readonly string[]): Promise<Snapshot> => {
    const body = JSON.parse(change(manifestText((clone as LoadedSnapshot).body))) as ManifestBody
    const bytes = seal('manifest', 3, JSON.stringify(body))
    const path = `_versions/forged${Math.random()}.json`
    await content.put(`roots/clone/${path}`, bytes)
    return engine.open('roots/clone', refOf(path, bytes, bases))
  }
  const own = ['../a/source/']
  expect(await engine.countRows(await forged((text) => text, own))).toBe(5)
  const named = /names the file .*, which is not its own/
  const to = (folder: string) => (text: string) =>
    text.replace(/"path":"..\/a\/source\//, `"path":"${folder}`)
  for (const folder of ['../a/secret/', '../a/source/../secret/', '../../', '../a/source/x/']) {
    await expect(forged(to(folder), own)).rejects.toThrow(named)
  }
  const without = (text: string) => text.replace('"bases":["../a/source/"],', '')
  await expect(forged(without, own)).rejects.toThrow(named)
})

test('a copy has files of its own, and damage is not copied', async () => {
  const { content, engine, source } = await cloned()
  const other = tableEngine({ content: memoryContent(), cacheBytes: 0 })
  const copy = await other.copyRows('copy', source, content)
  expect(copy.manifest.bases).toBeUndefined()
  expect(await other.countRows(copy, { predicate: 'n >= 0' })).toBe(5)
  const path = `roots/a/source/${(source as LoadedSnapshot).body.tail[0]!.path}`
  const bytes = (await content.get(path))!.slice()
  bytes[bytes.length >> 1]! ^= 1
  await content.remove(path)
  await content.put(path, bytes)
  await expect(other.copyRows('copy', source, content)).rejects.toThrow(/is damaged/)
  await content.remove(path)
  await expect(other.copyRows('copy', source, content)).rejects.toThrow(/is missing/)
  await engine.close()
})

test('paths lead from folder to folder and back', () => {
  for (const [prefix, path] of [
    ['a/b/', 'a/b/c'],
    ['a/b/', 'a/c'],
    ['a/b/', 'a/bc/d'],
    ['a/b/c/', 'x/y'],
    ['a/', 'a'],
    ['a/b/', 'a/b'],
  ] as const) {
    expect(pathIn(prefix, pathFrom(prefix, path))).toBe(path)
  }
  expect(pathFrom('tables/x/', 'tables/y/data/z')).toBe('../y/data/z')
})
