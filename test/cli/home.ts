import { join } from 'node:path'
import { run } from './run.ts'

/** A catalog and the settings of a user with a profile for it, in a folder of their own. */
export async function home(folder: string) {
  const env = { XDG_CONFIG_HOME: join(folder, 'config') }
  const catalog = join(folder, 'catalog')
  await run(['mkns', catalog, 'prod'])
  await run(['mkns', catalog, 'prod.eu'])
  await run(['create', catalog, 'prod.flights', '--data', '[{"a":1}]'])
  await run(['declare', catalog, 'prod.flights_old'])
  await run(['declare', catalog, 'planes'])
  await run(['tag', catalog, 'prod.flights', 'stable', '1'])
  await run(['branch', catalog, 'prod.flights', 'try'])
  await run(['profile', 'add', 'home', catalog], { env })
  return { env, catalog }
}
