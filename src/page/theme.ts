/** The themes to choose from. `auto` follows the system. */
export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export const themeNames: Readonly<Record<Theme, string>> = { auto: 'Auto', light: 'Light', dark: 'Dark' }

const key = 'tabularium-theme'
const system = matchMedia('(prefers-color-scheme: dark)')

/** The theme that this browser keeps; `auto` at first. */
export function chosenTheme(): Theme {
  const kept = localStorage.getItem(key)
  return themes.find((theme) => theme === kept) ?? 'auto'
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  show()
}

/** Shows the kept theme, and follows the system and other tabs. */
export function followTheme(): void {
  show()
  system.addEventListener('change', show)
  window.addEventListener('storage', show)
}

function show(): void {
  const theme = chosenTheme()
  document.documentElement.dataset.theme = theme === 'auto' ? (system.matches ? 'dark' : 'light') : theme
}
