import type { ContentFolder } from './locations.ts'

/** Lance counts versions up in the names of manifests, or down from the largest number, with all its digits. */
const upwards = /^(\d{1,16})\.manifest$/
const downwards = /^(\d{20})\.manifest$/
const largest = 2n ** 64n - 1n

/**
 * The latest version of a table that Lance keeps by itself, from the names of its manifests. Undefined where there are
 * none. The catalog has no records of these versions, so it can tell the number and nothing else.
 */
export async function foreignVersion({ content, prefix }: ContentFolder): Promise<number | undefined> {
  let latest: number | undefined
  const folder = `${prefix}_versions/`
  for await (const { path } of content.list(folder)) {
    const name = path.slice(folder.length)
    const down = downwards.exec(name)?.[1]
    const version = down === undefined ? Number(upwards.exec(name)?.[1]) : Number(largest - BigInt(down))
    if (Number.isSafeInteger(version) && version > (latest ?? 0)) latest = version
  }
  return latest
}
