import { useState } from 'preact/hooks'
import { chooseTheme, chosenTheme, type Theme, themeNames, themes } from '../theme.ts'

/** The choice of the theme. */
export function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <label class="theme">
      <span class="unseen">Colors</span>
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Theme
          setTheme(chosen)
          chooseTheme(chosen)
        }}
      >
        {themes.map((name) => (
          <option key={name} value={name}>
            {themeNames[name]}
          </option>
        ))}
      </select>
    </label>
  )
}
