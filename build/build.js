import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { build } from 'esbuild'
import { removeComments } from './comments.js'
import { licensesOf } from './licenses.js'
import { writeLightClient } from './light-client.js'
import { needingAllOf } from './together.js'
import { writeTypes } from './types.js'
import { bundled as inWeb, writeWeb } from './web.js'

/*
 * Builds `dist`, or the folder in the first argument: one bundle for each entry point, type declarations, and the package
 * of the light client. Bundled, because Node loads a hundred small modules slower than it runs them. Lazily loaded modules stay files of their own.
 */

const outdir = process.argv[2] ?? 'dist'
const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const outputs = Object.values(exports)
  .map((entry) => entry.default ?? entry)
  .filter((path) => path.endsWith('.js'))
// A worker thread or a process starts from its own file.
const workers = [
  'src/engine/table/scan/worker.ts',
  'src/engine/arrow/ipc/decompress-worker.ts',
  'src/engine/lance/isolated/child.ts',
]
const sourceOf = (path) => path.replace(/^(\.\/)?dist\//, 'src/').replace(/\.js$/, '.ts')
/** The sources of the public entry points. */
const publicSources = new Set(
  Object.values(exports)
    .filter(({ types }) => types)
    .map((entry) => sourceOf(entry.default)),
)
/** The start of the command loads the rest of it by the name of its file. */
const command = 'src/cli/index.ts'
const rest = 'src/cli/main.ts'
const entryPoints = new Set([...outputs.map(sourceOf), rest, 'src/tabularium/tour.ts'])

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
  'hyparquet',
  'hyparquet-writer',
  'commander',
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

/** Leaves the rest of the command in its own file. */
const theRestApart = {
  name: 'the rest apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/main\.ts$/ }, () => ({ path: './main.js', external: true })),
}

rmSync(outdir, { recursive: true, force: true })
const main = 'src/tabularium/index.ts'
const { metafile } = await build({ ...options, write: false, metafile: true })
const { inputs } = metafile
/** What needs a part of the library loads all of its core, and so do parts of the command with the command. */
const together = new Map([
  [main, needingAllOf(main, inputs, entryPoints)],
  [rest, new Set([...needingAllOf(rest, inputs, [])].filter((path) => path.startsWith('src/cli/')))],
])
const built = await build({
  ...options,
  metafile: true,
  plugins: [changed(together)],
  // The plugin adds bare imports on purpose, for their files only.
  logOverride: { 'ignored-bare-import': 'silent' },
})
// What starts by itself shares no file with the rest: a small file costs as much time as a large one.
const changes = [changed()]
await build({ ...options, entryPoints: workers, plugins: changes })
// CommonJS, since Node takes some milliseconds to prepare for the first ES module, and the version needs none.
await build({
  ...options,
  entryPoints: [command],
  splitting: false,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': '__filename' },
  plugins: [theRestApart, ...changes],
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
removeComments(outdir)

/**
 * Changes sources before they are bundled. `together` has entry points, and the sources that import all of one, since
 * they need a part of it.
 *
 * Node's own modules come from `process.getBuiltinModule`. An import of one makes a module of all that it exports: Node
 * calls each of its getters, and loads what lies behind them.
 */
function changed(together = new Map()) {
  const imports = /^import (?!type )(?:\* as )?(\w+|\{[^}]*\}) from ['"](node:[^'"]+)['"];?$/gm
  const pattern = (names) => names.replace(/\btype \w+( as \w+)?,?/g, '').replace(/(\w+) as (\w+)/g, '$1: $2')
  return {
    name: 'changed',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.[mc]?[jt]s$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
          .replace(
            imports,
            (_, names, from) => `const ${pattern(names)} = globalThis.process.getBuiltinModule('${from}')`,
          )
          .replace(/\brequire\('(node:[^']+)'\)/g, "globalThis.process.getBuiltinModule('$1')")
        const more = [...together].map(([main, needing]) =>
          needing.has(relative('', path)) ? `\nimport ${JSON.stringify(resolve(main))}\n` : '',
        )
        return { contents: text + more.join(''), loader: path.endsWith('.ts') ? 'ts' : 'js' }
      }),
  }
}
