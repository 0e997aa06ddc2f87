import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type BuildOptions, type BuildResult, build, type Metafile, type Plugin } from 'esbuild'

/*
 * The build for browsers and edge runtimes, made from the current sources, and bundled like an application.
 */

export const root = fileURLToPath(new URL('../..', import.meta.url))

interface File {
  readonly path: string
  readonly contents: Uint8Array
}

/** The virtual folder of the build, from which packages are resolved. */
const place = `${root}test/.scripts`

let made: Promise<ReadonlyMap<string, Uint8Array>> | undefined

/** The files of the build by their names in the package, such as `dist/web/client/index.js`. */
export function webFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  made ??= (async () => {
    const from = `${root}build/web.js`
    const { webFiles } = (await import(from)) as { webFiles(outdir: string): Promise<File[]> }
    const files = await webFiles(`${place}/dist/web`)
    return new Map(files.map(({ path, contents }) => [path.slice(place.length + 1), contents]))
  })()
  return made
}

/** The file of the build for an import of the package. */
export function webFileOf(specifier: string, exports: Exports): string | undefined {
  return exports[specifier.replace(/^tabularium/, '.')]?.browser?.slice('./'.length)
}

/** The `exports` of package.json. */
export type Exports = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Resolves imports of the package to its build. */
async function ofTheBuild(exports: Exports): Promise<Plugin> {
  const files = await webFiles()
  return {
    name: 'of the build',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^tabularium(\/|$)/ }, ({ path }) => {
        const file = webFileOf(path, exports)
        if (file === undefined) return { errors: [{ text: `${path} is not for browsers` }] }
        return { path: `${place}/${file}`, namespace: 'build', sideEffects: false }
      })
      onResolve({ filter: /^\./, namespace: 'build' }, ({ path, importer }) => {
        const { pathname } = new URL(path, `file://${importer}`)
        return { path: pathname, namespace: 'build', sideEffects: false }
      })
      onLoad({ filter: /.*/, namespace: 'build' }, ({ path }) => ({
        contents: files.get(path.slice(place.length + 1))!,
        resolveDir: root,
      }))
    },
  }
}

/** Bundles a module of an application for browsers. Fails for an import that browsers cannot resolve. */
export async function bundledForBrowsers(
  code: string,
  exports: Exports,
  options: BuildOptions = {},
): Promise<BuildResult<{ write: false; metafile: true }>> {
  return build({
    stdin: { contents: code, resolveDir: root, sourcefile: 'application.js' },
    outdir: `${place}/application`,
    bundle: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [await ofTheBuild(exports)],
    ...options,
    write: false,
    metafile: true,
  })
}

/** The size of an application, minified and compressed: of the initial load, and with all lazy modules. */
export async function weigh(code: string, exports: Exports): Promise<{ atOnce: number; inAll: number }> {
  const { outputFiles, metafile } = await bundledForBrowsers(code, exports, { splitting: true, minify: true })
  const bytes = new Map(
    outputFiles.map(({ path, contents }) => [
      path.slice(root.length),
      gzipSync(contents, { level: 9 }).length,
    ]),
  )
  const first = Object.keys(metafile.outputs).find((file) => file.endsWith('/stdin.js'))!
  const sum = (files: ReadonlySet<string>) =>
    Array.from(files).reduce((total, file) => total + bytes.get(file)!, 0)
  return { atOnce: sum(loaded(metafile, first, false)), inAll: sum(loaded(metafile, first, true)) }
}

function loaded({ outputs }: Metafile, first: string, later: boolean): ReadonlySet<string> {
  const found = new Set([first])
  for (const file of found) {
    for (const { path, kind, external } of outputs[file]!.imports) {
      if (!external && (later || kind !== 'dynamic-import')) found.add(path)
    }
  }
  return found
}
