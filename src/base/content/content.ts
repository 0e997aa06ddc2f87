import type { SignRequest } from './signer.ts'

/**
 * The storage of table content: immutable objects under slash-separated paths. A path is relative to the root of the
 * content, and has no `.`, `..` or empty segment.
 *
 * To write your own, implement the members below. An object never changes after it was put.
 */
export interface Content {
  /**
   * The URL by which `openContent` opens the same content elsewhere, if there is one. Worker threads then read the objects
   * of large tables themselves.
   */
  readonly url?: string | undefined
  /**
   * Stores an object. Once this resolves, the object is whole and as durable as the content makes it. Readers see no
   * part of it before. The caller may change the bytes afterwards: a content copies what it keeps. Throws
   * `ConcurrentModification` for a path that is taken.
   */
  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void>
  /** The object's bytes, or its bytes from `start` up to `end`. Undefined when the object does not exist. */
  get(path: string, range?: ByteRange): Promise<Uint8Array | undefined>
  /**
   * As `get`, for several parts of one object, in their order. Optional: for a content where this is faster than one
   * `get` for each. Over a network, nearby parts may share a request; a file is opened once.
   */
  getRanges?(path: string, ranges: readonly ByteRange[]): Promise<readonly (Uint8Array | undefined)[]>
  /**
   * About how many bytes can be read in the time that one more read takes. Parts with smaller gaps between them are
   * read together. Default: 1 MiB with `getRanges`, as over a network, and 64 KiB without.
   */
  readonly readCost?: number | undefined
  /**
   * The same content without its cache. Reading an object here also drops it from the cache. Optional, for a content
   * with a cache.
   */
  readonly uncached?: Content | undefined
  /**
   * All objects whose path begins with `prefix` (which ends in a slash or is empty), in any order. The list may
   * contain the unfinished file of a running or interrupted `put`. Its path ends in `.partial`, and `remove` removes
   * it like an object.
   */
  list(prefix: string): AsyncIterable<ListedObject>
  /** Removes an object, or all objects below a `path` that ends in a slash. Does nothing when there is no such object. */
  remove(path: string): Promise<void>
  /** Begins a group of objects that become durable together. Optional: without it, each is durable once it is put. */
  group?(): PutGroup
  /**
   * Signs requests of other programs for objects here, so that they need no credentials. Optional: for services that know
   * signatures, such as S3.
   */
  readonly sign?: SignRequest | undefined
  /** Files that other programs write here, too. Optional: without it, the catalog manages no versions of Lance tables. */
  readonly shared?: SharedFiles | undefined
}

/** An object, or the unfinished file of one. */
export interface ListedObject {
  readonly path: string
  /** In bytes. */
  readonly size: number
  /**
   * When it was created or last written, in milliseconds since the epoch. Where only the second is known, the end of
   * the second.
   */
  readonly modified: number
  /**
   * The path that an unfinished file was begun for. A vacuum keeps the file while the work on that path goes on,
   * however old the file is. Not needed where `modified` is the time of the last write.
   */
  readonly becomes?: string | undefined
}

/** Part of an object: the bytes from `start` up to `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Objects that become durable together, which is faster than one by one. */
export interface PutGroup {
  /**
   * As `put` of the content, but durable only once `sync` has resolved. Once this resolves, readers see the whole
   * object. Before, they may see a part of it, and a crash may leave a part, or an empty object. So a group is for
   * objects whose paths are unknown to readers until the group has synced.
   */
  put: Content['put']
  /** Makes all objects durable that were put so far. After one could not be made durable, every call fails. */
  sync(): Promise<void>
}

/** What a content does with files that other programs write beside the catalog's objects, as Lance does. */
export interface SharedFiles {
  /** The names of the files in a folder, but not of those below it. `prefix` ends in a slash. */
  names(prefix: string): Promise<readonly string[]>
  /**
   * Makes a file that another program wrote as durable as an object, and returns its size in bytes. Undefined when there
   * is no such file.
   */
  sync(path: string): Promise<number | undefined>
  /**
   * Gives a file a second path, atomically and as durable as an object. Creates missing folders. Never replaces a file:
   * returns `taken` when there is one, and `missing` when there is none to link.
   */
  link(from: string, to: string): Promise<Linked>
  /**
   * As `link`, for many files, whose second paths appear within as short a time as possible. Links in one folder
   * appear in order. After a failed link, the later ones of its folder are not made: their result is undefined.
   * `onLinked` is called once all second paths are there, and perhaps not durable yet. Optional: without it, each file is
   * linked alone.
   */
  linkAll?(links: readonly Link[], onLinked?: () => void): Promise<readonly (Linked | undefined)[]>
  /** Makes a folder for programs that write only to folders that exist. Optional: object stores have no folders. */
  makeFolder?(path: string): Promise<void>
  /**
   * What tells one state of a file, or of the names in a folder (its path ends in a slash), from a later one. Undefined
   * when there is none. Optional: without it, a change is noticed by reading again.
   */
  state?(path: string): Promise<FileState | undefined>
  /** Creates or replaces the file at `path`, atomically and as durable as an object. */
  replace(path: string, bytes: Uint8Array): Promise<void>
}

/** A state of a file, or of the names in a folder. */
export interface FileState {
  /** Another text for each state, but for changes that follow on each other within `millis`. */
  readonly text: string
  readonly millis: number
}

/** The result of linking a file. */
export type Linked = 'linked' | 'taken' | 'missing'

/** A file, and its second path. */
export interface Link {
  readonly from: string
  readonly to: string
}
