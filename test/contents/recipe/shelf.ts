import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogError, type Content } from '../../../src/tabularium/index.ts'

/*
 * A content as somebody writes it who knows the package by its exports. Each object is a file, named by the hash of its
 * path. The file begins with the path, so names may be as long and as odd as they like.
 */

/** Objects in the files of one folder. */
export function shelf(folder: string): Content {
  const fileOf = (path: string) => join(folder, createHash('sha256').update(path).digest('hex'))

  /** The path in a file, and the bytes behind it. */
  async function read(file: string): Promise<{ path: string; bytes: Buffer } | undefined> {
    const found = await readFile(file).catch(unlessMissing)
    if (found === undefined) return undefined
    const start = 4 + found.readUInt32LE(0)
    return { path: found.toString('utf8', 4, start), bytes: found.subarray(start) }
  }

  async function* list(prefix: string) {
    if (prefix !== '') checkPath(prefix.replace(/\/$/, ''), prefix.endsWith('/'))
    for (const name of (await readdir(folder).catch(unlessMissing)) ?? []) {
      const file = join(folder, name)
      const [found, stats] = await Promise.all([read(file), stat(file).catch(unlessMissing)])
      if (name.endsWith('.new') || !found?.path.startsWith(prefix) || stats === undefined) continue
      yield { path: found.path, size: found.bytes.length, modified: stats.mtimeMs }
    }
  }

  return {
    list,
    async put(path, bytes) {
      checkPath(path)
      const name = Buffer.from(path)
      const length = Buffer.alloc(4)
      length.writeUInt32LE(name.length)
      const parts = bytes instanceof Uint8Array ? [bytes] : bytes
      const whole = Buffer.concat([length, name, ...parts])
      await mkdir(folder, { recursive: true })
      const partial = join(folder, `${randomUUID()}.new`)
      await writeFile(partial, whole, { flush: true })
      try {
        await link(partial, fileOf(path))
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
        throw new CatalogError('ConcurrentModification', `There is an object at ${path}. Use another path.`)
      } finally {
        await unlink(partial)
      }
    },
    async get(path, range) {
      checkPath(path)
      const found = await read(fileOf(path))
      if (found === undefined || range === undefined) return found?.bytes
      return found.bytes.subarray(range.start, Math.max(range.start, range.end))
    },
    async remove(path) {
      const paths: string[] = []
      if (path.endsWith('/')) for await (const found of list(path)) paths.push(found.path)
      else checkPath(path)
      for (const one of path.endsWith('/') ? paths : [path]) await unlink(fileOf(one)).catch(unlessMissing)
    },
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function checkPath(path: string, isWhole = true): void {
  const isPlain = path.split('/').every((name) => !/^\.{0,2}$|\0/.test(name))
  if (!isPlain || !isWhole) {
    throw new CatalogError('InvalidInput', `${JSON.stringify(path)} is no path. Join names by slashes.`)
  }
}
