import assert from 'node:assert/strict'
import { parse } from '../../../src/iceberg/json.ts'
import type { Catalog, Identifier } from '../../../src/tabularium/index.ts'

// biome-ignore lint/suspicious/noExplicitAny: metadata as its file has it
type Metadata = any

/** Reads a metadata file by its URL; undefined when there is none. */
export type ReadFile = (url: string) => Promise<Uint8Array | undefined>

/** The snapshots of a table from its first to its current one, whose numbers, parents and log must agree. */
export function chainOf(metadata: Metadata): readonly Metadata[] {
  const { snapshots } = metadata
  const byId = new Map<unknown, Metadata>(snapshots.map((one: Metadata) => [one['snapshot-id'], one]))
  assert.equal(byId.size, snapshots.length, 'two snapshots have one id')
  const chain: Metadata[] = []
  for (let at = byId.get(metadata['current-snapshot-id']); at !== undefined; ) {
    chain.unshift(at)
    const parent = at['parent-snapshot-id']
    at = parent === undefined ? undefined : byId.get(parent)
    assert(parent === undefined || at !== undefined, `the parent ${parent} is missing`)
  }
  assert.equal(chain.length, snapshots.length, 'a snapshot is no ancestor of the current one')
  const numbers = chain.map((one) => one['sequence-number'])
  assert.deepEqual(
    numbers,
    chain.map((_, at) => at + 1),
    'sequence numbers',
  )
  assert.equal(metadata['last-sequence-number'], chain.length)
  const logged = metadata['snapshot-log'].map((one: Metadata) => one['snapshot-id'])
  assert.deepEqual(
    logged,
    chain.map((one) => one['snapshot-id']),
    'the snapshot log',
  )
  return chain
}

/** The marker of each snapshot, from the first to the current one. */
export function markersOf(metadata: Metadata): number[] {
  const markers = chainOf(metadata).map(({ summary }) => Number(summary.marker))
  const last = metadata.properties.marker
  assert.equal(
    last === undefined ? undefined : Number(last),
    markers.at(-1),
    'the property beside the snapshot',
  )
  return markers
}

/** Checks that each version of a table has a metadata file of its own, which adds one snapshot to the one before. */
export async function checkVersions(
  catalog: Catalog,
  id: Identifier,
  metadata: Metadata,
  read: ReadFile,
): Promise<number> {
  const chain = chainOf(metadata)
  const paths: string[] = []
  for (let page_token: string | undefined; ; ) {
    const page = await catalog.listTableVersions({ id: [...id], page_token })
    for (const { version, manifest_path } of page.versions) {
      assert.equal(version, paths.length + 1, 'numbers of versions')
      paths.push(manifest_path)
    }
    page_token = page.page_token ?? undefined
    if (page_token === undefined) break
  }
  assert.equal(new Set(paths).size, paths.length, 'two versions have one metadata file')
  assert.equal(paths.length, chain.length + 1, 'versions and snapshots')
  for (const [at, path] of paths.entries()) {
    const bytes = await read(path)
    assert(bytes !== undefined, `the metadata file of version ${at + 1} is gone: ${path}`)
    const file = parse(Buffer.from(bytes).toString('utf8')) as Metadata
    assert.equal(file['table-uuid'], metadata['table-uuid'])
    assert.deepEqual(
      file.snapshots.map((one: Metadata) => one['snapshot-id']),
      chain.slice(0, at).map((one) => one['snapshot-id']),
      `the snapshots of version ${at + 1}`,
    )
    const before = file['metadata-log'].at(-1)?.['metadata-file']
    assert.equal(before, at === 0 ? undefined : paths[at - 1], `what version ${at + 1} follows`)
  }
  return paths.length
}
