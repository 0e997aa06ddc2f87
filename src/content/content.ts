/**
 * Where the content of tables lies: immutable objects under slash-separated paths. A path is relative to
 * the root of the content it is asked of; it holds no `.`, `..` or empty segment.
 *
 * To write one: implement the members below. An object is never changed once it was put.
 */
export interface Content {
  /**
   * The folder in which an object's path is the path of a file that holds it, where that is so. Large tables
   * are then read by worker threads, which go to the files by themselves and not through `get`.
   */
  readonly directory?: string | undefined
  /**
   * Stores an object. Once this resolves the object is whole and as durable as the content makes it; before,
   * nobody sees any of it. A path that is taken is refused with `ConcurrentModification`.
   */
  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void>
  /** The object's bytes, or those from `start` up to `end`. Undefined when there is no such object. */
  get(path: string, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array | undefined>
  /**
   * All objects whose path begins with `prefix` (which ends in a slash or is empty), in no given order. What a
   * `put` under way, or one that was cut off, has written so far may be listed too, under a path of its own
   * that ends in `.partial`; `remove` takes it away like an object.
   */
  list(
    prefix: string,
  ): AsyncIterable<{ readonly path: string; readonly size: number; readonly modified: number }>
  /** Removes an object or, when `path` ends in a slash, all below it. Nothing happens when there is none. */
  remove(path: string): Promise<void>
}
