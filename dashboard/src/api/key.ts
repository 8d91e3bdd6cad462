/** The API key lives as long as the tab does, and is never part of an address. */
const NAME = 'genesis-key';

export const readKey = (): string | null => sessionStorage.getItem(NAME);

export function storeKey(key: string): void {
  sessionStorage.setItem(NAME, key.trim());
}

export function forgetKey(): void {
  sessionStorage.removeItem(NAME);
}
