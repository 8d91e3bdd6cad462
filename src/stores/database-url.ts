import { StoreRefused } from './store.js';

interface DatabaseUrlFormat {
  readonly database: string;
  readonly schemes: readonly string[];
  readonly parameters: readonly string[];
  readonly example: string;
}

/** Parses the URL of a database. No error repeats its credentials. */
export function parseDatabaseUrl(
  text: string,
  { database, schemes, parameters, example }: DatabaseUrlFormat,
): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !schemes.includes(url.protocol.slice(0, -1))) {
    throw new StoreRefused(`Not a ${database} URL. Expected ${example}`);
  }
  for (const name of url.searchParams.keys()) {
    if (parameters.includes(name)) continue;
    throw new StoreRefused(
      `Unknown parameter "${name}" in the ${database} URL. Known: ${parameters.join(', ')}.`,
    );
  }
  return url;
}

/** The server that a URL names, and the login for it. */
export function serverAndLoginOf(url: URL, defaultPort: number) {
  if (url.hostname === '')
    throw new StoreRefused(`The store URL has no host. Expected ${url.protocol}//user@host:${defaultPort}/…`);
  return {
    host: decodeUrlPart(url.hostname.replace(/^\[(.*)\]$/, '$1')),
    port: url.port === '' ? defaultPort : Number(url.port),
    user: decodeUrlPart(url.username),
    password: decodeUrlPart(url.password),
  };
}

export function decodeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreRefused('A part of the store URL is not valid percent-encoding. Encode % as %25.');
  }
}

/** The choice that a URL parameter names; the first choice if the parameter is absent. */
export function choiceOf<T>(url: URL, name: string, choices: Readonly<Record<string, T>>): T {
  const [fallback] = Object.keys(choices);
  const choice = url.searchParams.get(name) ?? (fallback as string);
  if (Object.hasOwn(choices, choice)) return choices[choice] as T;
  throw new StoreRefused(
    `The parameter ${name} of the store URL must be one of ${Object.keys(choices).join(', ')}, not ${choice}.`,
  );
}

export function integerOf(url: URL, name: string, fallback: number, min: number, max: number): number {
  const text = url.searchParams.get(name) ?? String(fallback);
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new StoreRefused(
    `The parameter ${name} of the store URL must be a whole number from ${min} to ${max}, not ${text}.`,
  );
}
