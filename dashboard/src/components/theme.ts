const NAME = 'genesis-theme';

export type Theme = 'light' | 'dark';

const systemTheme = (): Theme => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

/** The chosen theme, otherwise the system's theme. */
export const readTheme = (): Theme => {
  const stored = localStorage.getItem(NAME);
  return stored === 'light' || stored === 'dark' ? stored : systemTheme();
};

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

const changes = new EventTarget();

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(NAME, theme);
  applyTheme(theme);
  changes.dispatchEvent(new Event('change'));
}

export function subscribeToTheme(listener: () => void): () => void {
  changes.addEventListener('change', listener);
  return () => changes.removeEventListener('change', listener);
}
