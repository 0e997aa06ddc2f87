import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { build } from 'esbuild'
import { writeTypes } from './types.js'
import { bundled as inWeb, writeWeb } from './web.js'

/*
 * Builds `dist`, or the folder that is named: one bundle for each entry point, and type declarations. Bundled, because loading a hundred
 * small modules takes Node longer than running them; what an entry point loads lazily stays a file of its own.
 */

const outdir = process.argv[2] ?? 'dist'
const { exports, bin, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const outputs = [...Object.values(exports), ...Object.values(bin)]
  .map((entry) => entry.default ?? entry)
  .filter((path) => path.endsWith('.js'))
// Worker threads are started from a file of their own.
const workers = ['src/engine/table/scan/worker.ts', 'src/engine/arrow/ipc/decompress-worker.ts']
const sourceOf = (path) => path.replace(/^(\.\/)?dist\//, 'src/').replace(/\.js$/, '.ts')
/** The sources of what others import. */
const publicSources = new Set(
  Object.values(exports)
    .filter(({ types }) => types)
    .map((entry) => sourceOf(entry.default)),
)
const entryPoints = new Set([...outputs.map(sourceOf), ...workers, 'src/tabularium/tour.ts'])

/**
 * Packages whose code is in the build. Finding and reading those that every catalog needs takes as long as a fifth of the
 * import. The others are small, and only servers and commands need them.
 */
const bundled = ['ulid', 'valibot', 'lossless-json', '@valibot/to-json-schema']

/** What the page to look after a catalog holds. */
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
  // No source maps: nothing is minified, so traces can be read, and maps would be half of the package.
}

rmSync(outdir, { recursive: true, force: true })
const { metafile } = await build({ ...options, write: false, metafile: true })
const built = await build({
  ...options,
  metafile: true,
  plugins: [loadTogether('src/tabularium/index.ts', metafile.inputs)],
  // That the import it adds brings nothing but files is what it is for.
  logOverride: { 'ignored-bare-import': 'silent' },
})
await import('./page.js')
await writeWeb(outdir)
writeFileSync(
  join(outdir, 'licenses.txt'),
  [...new Set([...bundled, ...onPage, ...inWeb])].map(licenseOf).join('\n'),
)
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

/**
 * Keeps in one file what `main` loads at once. The bundler makes a file of all modules that the same entry points
 * need, which were seventeen, at a millisecond each. So whatever needs some of them, and is not needed by them,
 * needs them all; but for worker threads, which begin faster with what little they need.
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
  for (const entry of [main, ...workers]) {
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

function licenseOf(name) {
  const folder = join('node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const [file] = ['LICENSE', 'LICENSE.md'].filter((file) => existsSync(join(folder, file)))
  return `${name} ${version}, ${license}\n\n${readFileSync(join(folder, file), 'utf8')}`
}
