import { render } from 'preact'
import { formatRoute, startRoute, tokenIn } from './model/route.ts'
import { token } from './server.ts'
import { followTheme } from './theme.ts'
import { App } from './views/app.tsx'

followTheme()
const given = tokenIn(location.hash)
if (given !== undefined) {
  token.set(given)
  // Removes the token from the URL, so that nobody reads it or shares it with the link.
  history.replaceState(null, '', formatRoute(startRoute))
}
render(<App />, document.getElementById('app')!)
