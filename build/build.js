import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { build } from 'esbuild'
import { licensesOf } from './licenses.js'
import { writeLightClient } from './light-client.js'
import { writeTypes } from './types.js'
import { bundled as inWeb, writeWeb } from './web.js'

/*
 * Builds `dist`, or the folder in the first argument: one bundle for each entry point, type declarations, and the package
 * of the light client. Bundled, because Node loads a hundred small modules slower than it runs them. Lazily loaded modules stay files of their own.
 */

const outdir = process.argv[2] ?? 'dist'
const { exports, bin, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const outputs = [...Object.values(exports), ...Object.values(bin)]
  .map((entry) => entry.default ?? entry)
  .filter((path) => path.endsWith('.js'))
// A worker thread starts from its own file.
const workers = ['src/engine/table/scan/worker.ts', 'src/engine/arrow/ipc/decompress-worker.ts']
const sourceOf = (path) => path.replace(/^(\.\/)?dist\//, 'src/').replace(/\.js$/, '.ts')
/** The sources of the public entry points. */
const publicSources = new Set(
  Object.values(exports)
    .filter(({ types }) => types)
    .map((entry) => sourceOf(entry.default)),
)
const entryPoints = new Set([...outputs.map(sourceOf), ...workers, 'src/tabularium/tour.ts'])

/**
 * Packages that are bundled. Resolving and reading those that every catalog needs would take a fifth of the import
 * time. The others are small, and only servers and commands need them.
 */
const bundled = [
  'ulid',
  'valibot',
  'lossless-json',
  '@valibot/to-json-schema',
  'csv-parse',
  'fzstd',
  'hyparquet',
  'hyparquet-writer',
]

/** The packages in the bundle of the page. */
const onPage = ['@uwdata/flechette', 'preact']

const options = {
  entryPoints: [...entryPoints],
  outdir,
  outbase: 'src',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !bundled.includes(name)),
  // No source maps: stack traces are readable without minification, and maps would be half of the package.
}

rmSync(outdir, { recursive: true, force: true })
const { metafile } = await build({ ...options, write: false, metafile: true })
const built = await build({
  ...options,
  metafile: true,
  plugins: [loadTogether('src/tabularium/index.ts', metafile.inputs)],
  // The plugin adds bare imports on purpose, for their files only.
  logOverride: { 'ignored-bare-import': 'silent' },
})
await import('./page.js')
await writeWeb(outdir)
writeFileSync(join(outdir, 'licenses.txt'), licensesOf([...new Set([...bundled, ...onPage, ...inWeb])]))
execFileSync(process.execPath, ['--import', 'tsx', 'build/operation-types.ts'], { stdio: 'inherit' })
writeTypes(
  outdir,
  Object.fromEntries(
    Object.values(built.metafile.outputs)
      .filter(({ entryPoint }) => publicSources.has(entryPoint))
      .map(({ entryPoint, exports }) => [
        entryPoint.replace('src', outdir).replace(/\.ts$/, '.d.ts'),
        exports,
      ]),
  ),
)
await writeLightClient(outdir)

/**
 * Keeps everything that `main` loads eagerly in one file. The bundler splits by the set of entry points that need a
 * module, which made seventeen files, at a millisecond each. So each importer outside `main` imports all of `main`.
 * Worker threads and the start of the command are exempt, since they start faster with only what they need.
 */
function loadTogether(main, inputs) {
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
  const needing = new Set([...entryPoints, ...lazy.map(({ path }) => path)])
  for (const entry of [main, ...workers, 'src/cli/index.ts']) {
    for (const file of loadedWith(entry)) needing.delete(file)
  }
  return {
    name: 'load together',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!needing.has(relative('', path))) return undefined
        return {
          contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(resolve(main))}\n`,
          loader: 'ts',
        }
      }),
  }
}
