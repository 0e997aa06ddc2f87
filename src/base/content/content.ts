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
   * Stores an object. Once this resolves, the object is whole and as durable as the content makes it. Before, nobody
   * sees any part of it. The bytes are the caller's again then, who may change them: a content copies what it keeps.
   * Throws `ConcurrentModification` for a path that is taken.
   */
  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void>
  /** The object's bytes, or its bytes from `start` up to `end`. Undefined when the object does not exist. */
  get(path: string, range?: ByteRange): Promise<Uint8Array | undefined>
  /**
   * As `get`, for parts of one object at once, in their order. Optional, for a content where this takes less than a `get`
   * for each: over a network, parts that lie near each other may be one request, and a file is opened once.
   */
  getRanges?(path: string, ranges: readonly ByteRange[]): Promise<readonly (Uint8Array | undefined)[]>
  /**
   * How many bytes are read in the time that one more read takes, about. Parts that lie nearer to each other are read
   * together. Default: 1 MiB with `getRanges`, as over a network, and 64 KiB without.
   */
  readonly readCost?: number | undefined
  /**
   * The same content, read past what it keeps of objects. What is read there drops what was kept of it. Optional, for a
   * content that keeps anything.
   */
  readonly uncached?: Content | undefined
  /**
   * All objects whose path begins with `prefix` (which ends in a slash or is empty), in any order. The unfinished file of
   * a `put` that is under way or was interrupted may be listed, too. Its path ends in `.partial`, and `remove` removes it
   * like an object.
   */
  list(prefix: string): AsyncIterable<ListedObject>
  /** Removes an object, or all objects below a `path` that ends in a slash. Does nothing when there is no such object. */
  remove(path: string): Promise<void>
  /** Begins a group of objects that become durable together. Optional: without it, each is durable once it is put. */
  group?(): PutGroup
  /** Files that other programs write here, too. Optional: without it, the catalog manages no versions of Lance tables. */
  readonly shared?: SharedFiles | undefined
}

/** An object, or the unfinished file of one. */
export interface ListedObject {
  readonly path: string
  /** In bytes. */
  readonly size: number
  /**
   * When it was made, or last written to, in milliseconds since the epoch. Where that is known to the second only, the
   * end of the second.
   */
  readonly modified: number
  /**
   * The path that an unfinished file was begun for. A vacuum leaves it alone while the work goes on that this path belongs
   * to, however long ago it was begun. Not needed where `modified` tells when the file was last written to.
   */
  readonly becomes?: string | undefined
}

/** Part of an object: the bytes from `start` up to `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Objects that become durable together, which takes less time than one by one. */
export interface PutGroup {
  /**
   * As `put` of the content, but durable only once `sync` has resolved. Once this resolves, everybody sees the whole
   * object. Before, others may see a part of it, and a crash may leave a part of it, or an empty object at its path. So
   * put objects in a group whose paths nobody else knows until the group has synced.
   */
  put: Content['put']
  /** Makes all objects durable that were put so far. Fails from then on when one of them could not be made durable. */
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
   * Gives a file a second path, in one step, and as durable as an object. Makes folders that are missing. Never replaces
   * a file: returns `taken` when there is one, and `missing` when there is none to link.
   */
  link(from: string, to: string): Promise<Linked>
  /**
   * As `link`, for many files, whose second paths appear within as short a time as possible. Those in one folder appear
   * in their order, and none appears after one that was not linked: undefined then. Optional: without it, each is linked
   * alone.
   */
  linkAll?(links: readonly Link[]): Promise<readonly (Linked | undefined)[]>
  /** Puts a file in the place of the one at `path`, if any, in one step and as durable as an object. */
  replace(path: string, bytes: Uint8Array): Promise<void>
}

/** What came of giving a file a second path. */
export type Linked = 'linked' | 'taken' | 'missing'

/** A file, and the path that it is to have, too. */
export interface Link {
  readonly from: string
  readonly to: string
}
