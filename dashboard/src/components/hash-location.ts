import { useMemo, useSyncExternalStore } from 'react';

/**
 * The location of the page in the hash, with its own query: `#/plan?tab=list`. The query before the hash names tenant and
 * project. Wouter's own hook would replace the query before the hash.
 */
const readHash = (): string => `/${location.hash.replace(/^#?\/?/, '')}`;
const pathOf = (hash: string): string => hash.split('?', 1)[0] as string;
const queryOf = (hash: string): string => hash.slice(pathOf(hash).length + 1);

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', `#${to}`);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** For wouter's Router: the path of the view, without its query. */
export const useHashPath = (): [string, typeof navigate] => [
  useSyncExternalStore(subscribe, () => pathOf(readHash())),
  navigate,
];
useHashPath.hrefs = (href: string): string => `#${href}`;

type HashQuery = readonly [
  query: URLSearchParams,
  /** Replaces these values, and removes those that are empty. The back button skips the change. */
  change: (values: Readonly<Record<string, string>>) => void,
];

/** Filters, tabs and selections of a view. */
export function useHashQuery(): HashQuery {
  const text = useSyncExternalStore(subscribe, () => queryOf(readHash()));
  return useMemo(() => [new URLSearchParams(text), changeQuery], [text]);
}

function changeQuery(values: Readonly<Record<string, string>>): void {
  const hash = readHash();
  const query = new URLSearchParams(queryOf(hash));
  for (const [name, value] of Object.entries(values))
    if (value === '') query.delete(name);
    else query.set(name, value);
  const text = query.toString();
  navigate(pathOf(hash) + (text === '' ? '' : `?${text}`), { replace: true });
}
