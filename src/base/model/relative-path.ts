/*
 * Paths in a manifest are relative to the table's location. A clone also refers to files of other tables, with paths
 * outside of its location: `../01J…/data/x.arrow`. So the paths stay valid when the catalog moves as a whole.
 */

/** The path, from the root of the content, of an object that a manifest below `prefix` names. */
export function pathIn(prefix: string, path: string): string {
  if (!path.startsWith('../')) return prefix + path
  const folders = prefix.split('/').slice(0, -1)
  let from = 0
  for (; path.startsWith('../', from); from += 3) folders.pop()
  return [...folders, path.slice(from)].join('/')
}

/** The path of an object in a manifest below `prefix`: the inverse of {@link pathIn}. Both prefixes end in a slash. */
export function pathFrom(prefix: string, path: string): string {
  if (path.startsWith(prefix)) return path.slice(prefix.length)
  const here = prefix.split('/').slice(0, -1)
  const there = path.split('/')
  let shared = 0
  while (shared < here.length && shared < there.length - 1 && here[shared] === there[shared]) shared++
  return '../'.repeat(here.length - shared) + there.slice(shared).join('/')
}

/** Whether a path of a manifest is outside of the table's location. */
export function leadsOut(path: string): boolean {
  return path.startsWith('../')
}
