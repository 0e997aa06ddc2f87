import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import ts from 'typescript-5'
import { needingAllOf } from './together.js'

/*
 * Builds the entry points for browsers and edge runtimes, `dist/web`, or `web` in the folder of the first argument.
 * They import nothing from Node: `src/web/node` replaces its modules. Functions that need files, threads, sockets or a
 * database throw `Unsupported`.
 */

const root = join(import.meta.dirname, '..')
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The sources of the entry points. The client is a separate build. */
const clientEntry = 'src/client/index.ts'
const mainEntry = 'src/tabularium/index.ts'
const testingEntry = 'src/testing/index.ts'
const entryPoints = [mainEntry, testingEntry, 'src/stores/memory/index.ts', 'src/contents/memory/index.ts']

/** Modules that stay separate files, so that bundlers can drop them when unused. */
const apart = ['src/testing/suites/rules.ts', 'src/testing/suites/random.ts']

/**
 * Packages that are bundled: those that are not dependencies of the package, `valibot`, of which little is used, and
 * `immer`, which reads `process.env`, and browsers have none.
 */
export const bundled = ['immer', 'ulid', 'valibot', 'buffer', 'base64-js', '@noble/hashes']

/** Modules that cannot run in browsers, each with the subject of its error message. */
const elsewhere = {
  'src/stores/lmdb/index.ts': 'A catalog in a directory',
  'src/stores/postgres/index.ts': 'A catalog in a database',
  'src/contents/files/index.ts': 'Content in a folder',
  'src/contents/open.ts': 'Content at a URL',
  'src/base/content/claim.ts': 'Content at a URL',
  'src/contents/cache/index.ts': 'A cache on disk',
  'src/base/scheduling/start-worker.ts': 'A thread',
  'src/catalog/rows/lance-change.ts': 'A change of rows of a Lance table',
  'src/catalog/rows/lance-arriving.ts': 'A table of Lance',
  'src/catalog/rows/lance-read.ts': 'A table of Lance',
  'src/catalog/lance/schema-metadata.ts': 'A change of a Lance table',
  'src/catalog/lance/copy-dataset.ts': 'A copy of a Lance table',
  'src/engine/lance/index.ts': 'A table of Lance',
  'src/catalog/maintenance/folders.ts': 'A catalog in a directory',
  'src/catalog/maintenance/adopt/adopt.ts': 'A catalog in a database',
  'src/catalog/maintenance/backup/backup.ts': 'A backup',
  'src/catalog/maintenance/backup/restore.ts': 'A backup',
  'src/catalog/maintenance/plain-files/copy.ts': 'A copy of a catalog',
  'src/catalog/maintenance/plain-files/export.ts': 'An export',
  'src/catalog/maintenance/plain-files/import.ts': 'An import',
  'src/catalog/maintenance/plain-files/import-tables.ts': 'An import',
  'src/testing/fake/served.ts': 'A server',
}

/** Modules that are others here. */
const replaced = {
  'src/base/scheduling/shared-loop.ts': 'src/web/shared-loop.ts',
  'src/engine/arrow/text-of-bytes.ts': 'src/web/text-of-bytes.ts',
}

/** The parts of an operation's definition and of its command that a client needs. It runs no operations. */
const clientNeeds = new Set([
  'name',
  'request',
  'response',
  'ignores',
  'changes',
  'repeatable',
  'route',
  'command',
])
const clientNeedsOfCommand = new Set(['lists'])

/** Builds all entry points for a folder. Returns the files without writing them. */
export async function webFiles(outdir) {
  const external = Object.keys(dependencies).filter((name) => !bundled.includes(name))
  const entries = [...entryPoints, ...apart]
  const [most, client] = await Promise.all([
    // The entry points of one store or content load no catalog.
    buildTogether({ ...optionsFor(outdir), external, entryPoints: entries }, mainEntry, [testingEntry]),
    buildTogether({ ...optionsFor(outdir), external, ...ofClient }, clientEntry),
  ])
  return [...reachable(most, entryPoints), ...reachable(client, [clientEntry])]
}

/**
 * Builds the client for a folder, with everything that it needs from packages. Returns the files without writing them,
 * the names that it exports, and the packages in it.
 */
export async function wholeClient(outdir) {
  const built = await buildTogether({ ...optionsFor(outdir), ...ofClient }, clientEntry)
  const files = reachable(built, [clientEntry])
  const outputs = files.map(({ path }) => built.metafile.outputs[relative(root, path)])
  const inputs = outputs.flatMap(({ inputs }) => Object.keys(inputs))
  const packages = inputs.map((input) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1])
  return {
    files,
    exports: outputs.find(({ entryPoint }) => entryPoint === clientEntry).exports,
    packages: [...new Set(packages)].filter((name) => name !== undefined).sort(),
  }
}

/** Builds twice: the first time to learn what `main` loads at once, which is then one file. */
async function buildTogether(options, main, entries = []) {
  const { plugins = [] } = options
  const first = await build({ ...options, plugins: [ofTheWeb(), ...plugins] })
  const needing = needingAllOf(main, first.metafile.inputs, entries)
  return build({ ...options, plugins: [ofTheWeb(main, needing), ...plugins] })
}

function optionsFor(outdir) {
  return {
    absWorkingDir: root,
    outdir,
    outbase: 'src',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    inject: ['src/web/globals.ts'],
    define: { 'Symbol.asyncDispose': 'asyncDispose' },
    write: false,
    metafile: true,
    // The sources check for Node's ZSTD, which `src/web/node/zlib.ts` lacks.
    // Files import all of another one on purpose, to be loaded with it.
    logOverride: { 'import-is-undefined': 'silent', 'ignored-bare-import': 'silent' },
  }
}

/** The files that are reachable from entry points. The bundler also writes files that only dead code would load. */
function reachable({ outputFiles, metafile: { outputs } }, entries) {
  const found = new Set(Object.keys(outputs).filter((file) => entries.includes(outputs[file].entryPoint)))
  for (const file of found) {
    for (const { path, external } of outputs[file].imports) if (!external) found.add(path)
  }
  const paths = new Set(Array.from(found, (file) => join(root, file)))
  return outputFiles.filter(({ path }) => paths.has(path))
}

/**
 * Resolves Node's modules to `src/web/node`, and replaces modules and the exports of `elsewhere`. The sources of `needing`
 * import all of `main`.
 */
const ofTheWeb = (main, needing = new Set()) => ({
  name: 'of the web',
  setup({ onResolve, onLoad }) {
    // The package is CommonJS, which the bundler never drops. As one call without effects, it is only where it is used.
    onResolve({ filter: /^buffer$/ }, ({ path }) => ({ path, namespace: 'one call' }))
    onLoad({ filter: /.*/, namespace: 'one call' }, async () => {
      const resolveDir = join(root, 'node_modules/buffer')
      const contents = withoutNumbers(readFileSync(join(resolveDir, 'index.js'), 'utf8'))
      const stdin = { contents, resolveDir }
      const globalName = 'made'
      const { outputFiles } = await build({ stdin, globalName, bundle: true, format: 'iife', write: false })
      const call = outputFiles[0].text.replace('made = (', 'made = /* @__PURE__ */ (')
      return { contents: `${call}\nexport const Buffer = /* @__PURE__ */ (() => made.Buffer)()` }
    })
    onResolve({ filter: /^node:/ }, ({ path, importer }) => {
      const own = join(root, 'src/web/node', `${path.slice('node:'.length)}.ts`)
      if (existsSync(own)) return { path: own }
      const text = `${relative(root, importer)} imports ${path}, which src/web/node does not have. Write what it needs there, or add the module that needs it to those of build/web.js that work elsewhere.`
      return { errors: [{ text }] }
    })
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const source = relative(root, path)
      const other = replaced[source]
      if (other !== undefined) return { contents: readFileSync(join(root, other), 'utf8'), loader: 'ts' }
      const more = needing.has(source) ? `\nimport ${JSON.stringify(join(root, main))}\n` : ''
      const what = elsewhere[source]
      if (what === undefined)
        return more === '' ? undefined : { contents: readFileSync(path, 'utf8') + more, loader: 'ts' }
      const lines = (await exportsOf(path)).map(
        (name) => `export const ${name} = unavailable(${JSON.stringify(what)})`,
      )
      const from = JSON.stringify(join(root, 'src/web/unavailable.ts'))
      const contents = `import { unavailable } from ${from}\n${lines.join('\n')}${more}`
      return { contents, resolveDir: root }
    })
  },
})

/** The package `buffer` without the methods that read and write numbers, a quarter of it: nothing calls them here. */
function withoutNumbers(text) {
  const [start, end] = ['function checkOffset (', '// copy(targetBuffer'].map((mark) => text.indexOf(mark))
  if (start < 0 || end < start)
    throw new Error('The package buffer has changed: build/web.js does not find its methods for numbers.')
  return `${text.slice(0, start)}${text.slice(end)}`.replace("require('ieee754')", 'undefined')
}

async function exportsOf(file) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [file],
    bundle: false,
    format: 'esm',
    write: false,
    metafile: true,
    outdir: 'out',
  })
  return Object.values(metafile.outputs)[0].exports
}

/** Removes the implementations from operation definitions: a client only sends requests. */
const withoutRuns = {
  name: 'without runs',
  setup: ({ onLoad }) =>
    onLoad({ filter: /src[\\/]catalog[\\/]operations[\\/][^\\/]+\.ts$/ }, ({ path }) => ({
      contents: describedOnly(readFileSync(path, 'utf8')),
      loader: 'ts',
    })),
}

/** A separate build, since a client runs no operations. */
const ofClient = { entryPoints: [clientEntry], plugins: [withoutRuns] }

function describedOnly(source) {
  const cuts = []
  const keepOnly = (object, needed) => {
    for (const property of object.properties) {
      const name = property.name.text
      if (!needed.has(name)) cuts.push([property.pos, property.end])
      else if (name === 'command') keepOnly(property.initializer, clientNeedsOfCommand)
    }
  }
  const visit = (node) => {
    if (ts.isCallExpression(node) && node.expression.text === 'operation') {
      keepOnly(node.arguments[0], clientNeeds)
    } else {
      ts.forEachChild(node, visit)
    }
  }
  visit(ts.createSourceFile('operation.ts', source, ts.ScriptTarget.Latest))
  // From the end, so that earlier offsets stay valid. Also removes the comma after each.
  return cuts.reduceRight(
    (text, [from, to]) => text.slice(0, from) + text.slice(to).replace(/^\s*,/, ''),
    source,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeWeb(process.argv[2])

/** Builds all entry points into `outdir/web`. */
export async function writeWeb(outdir = 'dist') {
  for (const { path, contents } of await webFiles(resolve(root, outdir, 'web'))) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, contents)
  }
}
