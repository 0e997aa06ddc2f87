import { createHash } from 'node:crypto'

/** Which snapshots a loaded table has: all, or those that branches and tags name. */
export type SnapshotsMode = 'all' | 'refs'

/**
 * The ETag of a loaded table. A metadata file never changes, so its location and the snapshots of the answer say all
 * that the metadata of the answer depends on. Only a hash of them is told.
 *
 * ```ts
 * etagOf('s3://lake/t/metadata/00002-….metadata.json', 'all') // "5f2d…", with its quotes
 * ```
 */
export function etagOf(metadataLocation: string, mode: SnapshotsMode): string {
  // 128 bits: nobody meets a second location with the same tag.
  return `"${createHash('sha256').update(`${mode} ${metadataLocation}`).digest('hex').slice(0, 32)}"`
}

/** A tag, with the comma that ends it. Lists may have empty items, so more commas may come before. */
const listed = /[ \t,]*(?:W\/)?("[\x21\x23-\x7e\x80-\u00ff]*")[ \t]*(?:,|$)/y
const nothing = /^[ \t,]*$/

/**
 * Whether the header `If-None-Match` has a tag, so that the answer is 304. `*` stands for any. Tags are compared
 * weakly, as the header asks for: `W/` before either does not matter. A header that cannot be read has no tag, as the
 * whole answer is never wrong.
 *
 * ```ts
 * if (isKnown(request.headers['if-none-match'], etag)) return { status: 304 }
 * ```
 */
export function isKnown(header: string | null | undefined, etag: string): boolean {
  if (header == null) return false
  if (header.trim() === '*') return true
  const wanted = withoutWeakness(etag)
  let found = false
  let end = 0
  listed.lastIndex = 0
  for (let item = listed.exec(header); item !== null; item = listed.exec(header)) {
    found ||= item[1] === wanted
    end = listed.lastIndex
  }
  return found && nothing.test(header.slice(end))
}

function withoutWeakness(etag: string): string {
  return etag.startsWith('W/') ? etag.slice(2) : etag
}
