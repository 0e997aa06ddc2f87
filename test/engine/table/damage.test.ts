import { expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { decodeArrow, tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { contentWith } from '../../support/contents.ts'
import { turns } from '../../support/turns.ts'
import { fixture } from '../arrow/fixtures.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ n, s: `text ${n}` }))

/** A content in which one object reads otherwise than it was written. */
function spoiled(
  content: Content,
  path: string,
  spoil: (bytes: Uint8Array) => Uint8Array | undefined,
): Content {
  return contentWith(content, {
    async get(at, range) {
      if (at !== path) return content.get(at, range)
      const bytes = await content.get(at)
      const changed = bytes && spoil(bytes.slice())
      return range ? changed?.subarray(range.start, range.end) : changed
    },
  })
}

async function paths(content: Content): Promise<string[]> {
  const found: string[] = []
  for await (const { path } of content.list('')) found.push(path)
  return found
}

const spoils: Record<string, (bytes: Uint8Array) => Uint8Array | undefined> = {
  missing: () => undefined,
  'cut off': (bytes) => bytes.subarray(0, bytes.length >> 1),
  empty: () => new Uint8Array(0),
  damaged: (bytes) => {
    for (let i = 0; i < bytes.length; i += 16) bytes[i]! ^= 1
    return bytes
  },
}

test.each(Object.keys(spoils))(
  'a file of the table that is %s is named, and nothing of it served',
  async (how) => {
    const content = memoryContent()
    const engine = tableEngine({ content, levels: [] })
    const rows = await toArrowTable(numbers(10))
    let snapshot = await engine.create('t', rows)
    const insert = await engine.insertRows(snapshot, rows)
    for (let i = 0; i < 300; i++) snapshot = (await insert.apply(snapshot)).snapshot
    snapshot = (await engine.deleteRows('n = 3').apply(snapshot)).snapshot
    const reached = new Set<string>()
    for await (const path of engine.reachable('t', [snapshot.manifest])) reached.add(path)
    expect(reached.size).toBeGreaterThan(4)
    const kinds = new Set<string>()
    for (const path of reached) {
      kinds.add(path.replace(/\/[^/]*$/, ''))
      const other = tableEngine({ content: spoiled(content, path, spoils[how]!) })
      const attempt = async () => other.queryRows(await other.open('t', snapshot.manifest))
      await expect(attempt(), path).rejects.toMatchObject({
        code: 'InvalidTableState',
        message: expect.stringContaining(JSON.stringify(path)),
      })
    }
    expect([...kinds].sort()).toEqual(['t/_versions', 't/_versions/segments', 't/data', 't/deletions'])
  },
)

test('every single byte of a fragment that is read is checked', async () => {
  const content = memoryContent()
  const snapshot = await tableEngine({ content }).create(
    't',
    await decodeArrow(fixture('dictionaries.arrows')),
  )
  const [fragment] = (await paths(content)).filter((path) => path.startsWith('t/data/'))
  const whole = await tableEngine({ content }).queryRows(snapshot)
  const size = (await content.get(fragment!))!.length
  let refused = 0
  const wrong: number[] = []
  for (let at = 0; at < size; at++) {
    const flip = (bytes: Uint8Array) => {
      bytes[at]! ^= 0x10
      return bytes
    }
    const engine = tableEngine({ content: spoiled(content, fragment!, flip) })
    try {
      // Bytes that no column consists of, such as the footer, are not read at all.
      if (!Buffer.from(await engine.queryRows(snapshot)).equals(whole)) wrong.push(at)
    } catch (error) {
      expect(error).toMatchObject({ code: 'InvalidTableState' })
      refused++
    }
  }
  expect(wrong).toEqual([])
  expect(refused).toBeGreaterThan(100)
})

test('a manifest of a newer format, or another one under its name, is refused', async () => {
  const content = memoryContent()
  const engine = tableEngine({ content })
  const { manifest } = await engine.create('t', await toArrowTable(numbers(1)))
  const path = `t/${manifest.path}`
  const newer = (bytes: Uint8Array) =>
    Buffer.from(Buffer.from(bytes).toString().replace('"format":1', '"format":5'))
  await expect(
    tableEngine({ content: spoiled(content, path, newer) }).open('t', manifest),
  ).rejects.toMatchObject({
    code: 'InvalidTableState',
    message: expect.stringContaining('format 5, which a newer version'),
  })
  const other = await engine.create('t', await toArrowTable(numbers(2)))
  const swapped = { ...manifest, path: other.manifest.path }
  await expect(tableEngine({ content }).open('t', swapped)).rejects.toThrow(
    'is not the one that was committed',
  )
})

test('fragments are there before the manifest that names them, and all objects before the change is done', async () => {
  const content = memoryContent()
  const order: string[] = []
  const recording = contentWith(content, {
    async put(path, bytes) {
      // Later than a manifest that does not wait for it.
      if (!path.includes('/_versions/')) await turns()
      await content.put(path, bytes)
      order.push(path.split('/')[1]!)
    },
  })
  const engine = tableEngine({ content: recording, fragmentRows: 64 })
  const base = await engine.create('t', await toArrowTable(numbers(200)))
  expect(order).toEqual(['data', 'data', 'data', 'data', '_versions'])
  order.length = 0
  // Deletions are written beside their manifest.
  await engine.deleteRows('n = 3').apply(base)
  expect(order.toSorted()).toEqual(['_versions', 'deletions'])
})
