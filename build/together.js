/*
 * Keeps everything that an entry point loads at once in one file. The bundler splits by the set of entry points and lazy
 * imports that need a module, which makes dozens of files: at a millisecond each in Node, and compressed each by itself.
 */

/**
 * The sources that are to import all of `main`, since they need a part of it: lazy imports, and `entries`. `inputs` are
 * those of a first build.
 */
export function needingAllOf(main, inputs, entries) {
  const loadedWith = (file, found = new Set()) => {
    if (found.has(file)) return found
    found.add(file)
    for (const { path, kind } of inputs[file]?.imports ?? []) {
      if (kind === 'import-statement') loadedWith(path, found)
    }
    return found
  }
  const lazy = Object.values(inputs).flatMap(({ imports }) =>
    imports.filter(({ kind }) => kind === 'dynamic-import'),
  )
  const needing = new Set([...entries, ...lazy.map(({ path }) => path)])
  for (const file of loadedWith(main)) needing.delete(file)
  return needing
}
