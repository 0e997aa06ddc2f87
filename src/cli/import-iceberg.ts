import { fileURLToPath } from 'node:url'
import { type Command, Option } from 'commander'
import { isDatabaseUrl } from '../base/model/location.ts'
import type { IcebergImportOptions, ImportedEntry } from '../iceberg/index.ts'
import { CatalogError, type Identifier, type LocalCatalog } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { resolveLocation } from './location-argument.ts'
import { maintenanceCommand } from './maintenance.ts'
import { hasCatalog, isUrl, openLocal } from './open.ts'
import { addRootOption, type RootOptions } from './options.ts'
import { printerOf } from './print.ts'
import { tellingRest, withProgress } from './progress.ts'

interface Typed extends RootOptions {
  readonly into: string
  readonly intoToken?: string
  readonly token?: string
  readonly credential?: string
  readonly scope?: string
  readonly oauthUrl?: string
  readonly warehouse?: string
  readonly delimiter: string
  readonly overwrite?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

const examples = `  $ tabularium import-iceberg https://old.example/iceberg --into ./catalog --location-root s3://lake/warehouse
  $ tabularium import-iceberg https://old.example/api/catalog prod dev.eu --into http://127.0.0.1:2333 --warehouse main
  $ tabularium import-iceberg http://127.0.0.1:8181 --into ./catalog --dry-run
`

/** The command that registers the tables of another catalog of Iceberg REST. */
export function importIcebergCommand(io: Io): Command {
  const command = maintenanceCommand(
    'import-iceberg',
    'Register the tables and views of another catalog of Iceberg REST.',
    'Their files stay where they are. Again, it skips what is the same, and follows what changed at the source since. Each table is one change; one that fails is named, the others are imported, and the exit code is 1.',
    examples,
  )
    .argument('<url>', 'URL of the other catalog, before /v1')
    .argument('[namespaces...]', 'namespaces to import, with all below them (default: all)')
    .requiredOption(
      '--into <location>',
      'directory, created when missing, URL of a database or a server, or @profile',
    )
  addSourceOptions(command)
  return addRootOption(command)
    .option('--into-token <token>', 'token for a server to import into (or TABULARIUM_TOKEN)')
    .option('--delimiter <text>', 'the text between the names of a namespace', '.')
    .option(
      '--overwrite',
      'take the state of the source, too, for tables that were changed since the last import',
    )
    .option('--dry-run', 'only report what would be done')
    .action(async (url: string, namespaces: readonly string[], typed: Typed) => {
      const asked = namespaces.map((text) => text.split(typed.delimiter))
      await importAll({ url, namespaces: asked, typed }, io)
    })
}

function addSourceOptions(command: Command): void {
  command
    .addOption(new Option('--token <token>', 'token for the other catalog').env('TABULARIUM_ICEBERG_TOKEN'))
    .addOption(
      new Option('--credential <id:secret>', 'credential that the other catalog gives a token for').env(
        'TABULARIUM_ICEBERG_CREDENTIAL',
      ),
    )
    .option('--scope <text>', 'scope of that token (default: catalog)')
    .option('--oauth-url <url>', 'where that token is asked for (default: the other catalog)')
    .option('--warehouse <text>', 'which of its catalogs a server is asked for')
}

interface Asked {
  readonly url: string
  readonly namespaces: readonly Identifier[]
  readonly typed: Typed
}

async function importAll({ url, namespaces, typed }: Asked, io: Io): Promise<void> {
  const { importIceberg, isOutOfReach } = await import('../iceberg/index.ts')
  const { token, credential, scope, oauthUrl, warehouse, overwrite, dryRun, json } = typed
  const out = new Places()
  let done = 0
  const importing = withProgress(io, async (show, clear) => {
    const tell = (text: string) => {
      clear()
      io.stderr.write(`${text}\n`)
    }
    const options: IcebergImportOptions = {
      namespaces,
      overwrite,
      dryRun,
      signal: io.signal,
      onEntry: (entry) => {
        done++
        show(() => `${done.toLocaleString('en')} tables and views`)
        if (entry.outcome !== 'failed') return
        if (isOutOfReach(entry.error)) out.note(entry)
        tell(`failed: ${entry.kind} ${entry.id.join('.')}: ${messageOf(entry.error)}`)
      },
      onNamespaceFailed: (id, error) => tell(`failed: namespace ${id.join('.')}: ${messageOf(error)}`),
    }
    const from = { url, token, credential, scope, oauthUrl, warehouse }
    const into = await resolveLocation(typed.into, io)
    if (isUrl(into.location)) {
      const access = typed.intoToken ?? into.token ?? io.env.TABULARIUM_TOKEN
      return importIceberg(
        from,
        { url: `${into.location.replace(/\/+$/, '')}/iceberg`, token: access },
        options,
      )
    }
    let catalog: LocalCatalog | undefined
    // A source that does not answer leaves no new catalog behind.
    const open = async () => {
      catalog = await openLocal(await placeOf(into.location, dryRun), true, typed, io)
      return catalog
    }
    try {
      return await importIceberg(from, open, options)
    } finally {
      await catalog?.close()
    }
  })
  const report = await tellingRest(io, importing, () =>
    done > 0 && !dryRun ? 'What was imported stays. Run it again: it skips that, and goes on.' : undefined,
  )
  out.tell(io, typed.into)
  const printer = printerOf(io, json)
  printer.one({ ...report })
  printer.end()
  if (report.failed > 0)
    throw new CatalogError(
      'InvalidTableState',
      `${report.failed} of the tables, views and namespaces could not be imported; they are named above. Run it again: it skips what was imported.`,
    )
}

/** Where to import. A dry run into a directory without a catalog makes none. */
async function placeOf(location: string, dryRun: boolean | undefined): Promise<string> {
  return dryRun && !isDatabaseUrl(location) && !(await hasCatalog(location)) ? 'memory:' : location
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The places of tables that the catalog cannot reach, for the option that gives access to them. */
class Places {
  readonly #folders = new Map<string, string[]>()

  note({ location = '' }: ImportedEntry): void {
    const [, host, path] = /^([a-z][a-z0-9+.-]*:\/*[^/]*|)(\/.*|)$/is.exec(location.replace(/\/+$/, '')) ?? []
    if (host === undefined) return
    const above = path!.split('/').slice(1, -1)
    const known = this.#folders.get(host) ?? above
    const common = known.findIndex((name, i) => name !== above[i])
    this.#folders.set(host, common < 0 ? known : known.slice(0, common))
  }

  tell(io: Io, into: string): void {
    for (const [host, folders] of this.#folders) {
      const place = folderOf([host, ...folders].join('/'))
      io.stderr.write(
        `Tables lie below ${place}, which is no root of ${into}. Give --location-root ${place}, here or where that server is started.\n`,
      )
    }
  }
}

/** A folder as `--location-root` takes it: by its path. Java writes file: URLs with one slash. */
function folderOf(place: string): string {
  return /^file:/i.test(place) ? fileURLToPath(place) : place
}
