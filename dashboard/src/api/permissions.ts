import { useSyncExternalStore } from 'react';

/** What a command needs: `operate` for those of operators, `review` for decisions, `work` for requests of runs. */
export type Permission = 'operate' | 'review' | 'work';

/** Permissions that the server has refused to this key. A new key loads the page again. */
let refused: ReadonlySet<Permission> = new Set();
const listeners = new Set<() => void>();

export function markRefused(permission: Permission): void {
  refused = new Set([...refused, permission]);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** No operation tells what a key may do: it may until the server says otherwise. */
export const useMay = (permission: Permission): boolean =>
  !useSyncExternalStore(subscribe, () => refused).has(permission);
