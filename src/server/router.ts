import { RegExpRouter } from 'hono/router/reg-exp-router';
import type { Route, RouteMatch } from './route.js';

interface RoutedRoute {
  readonly route: Route;
  /** A parameter that must have a certain value; null if there is no such parameter. */
  readonly literal: { readonly name: string; readonly value: string } | null;
}

const PARAMETER_PATTERN = /\{(\w+)\}/g;

/** Maximum number of paths per method whose match is kept, and of the characters of such a path. */
const KEPT_PATHS_MAX = 1000;
const KEPT_PATH_LENGTH_MAX = 256;

/** Finds the route of a path. */
export class Router {
  private readonly router = new RegExpRouter<RoutedRoute>();
  /** The matches of recent paths, by method: nearly all requests are commands, whose path is the same for a whole project. */
  private readonly recentMatches = new Map<string, Map<string, RouteMatch>>();

  constructor(private readonly routes: readonly Route[]) {
    for (const route of routes) {
      const { pattern, literal } = routerPath(route.path, routes);
      this.router.add(route.method, pattern, { route, literal });
    }
  }

  /** Null if no route has this path, or only routes with other methods have it. */
  match(method: string, path: string): RouteMatch | null {
    const recent = this.recentMatches.get(method) ?? new Map<string, RouteMatch>();
    const known = recent.get(path);
    if (known !== undefined) return known;
    if (path.length > KEPT_PATH_LENGTH_MAX) return this.findMatch(method, path);
    // A copy, because the path is a slice that would keep all headers of its request in memory.
    const copy = Buffer.from(path).toString();
    const found = this.findMatch(method, copy);
    if (found === null) return null;
    if (recent.size >= KEPT_PATHS_MAX) recent.clear();
    this.recentMatches.set(method, recent.set(copy, found));
    return found;
  }

  private findMatch(method: string, path: string): RouteMatch | null {
    const [matches, values] = this.router.match(method, path);
    for (const [{ route, literal }, indexes] of matches) {
      const params = paramsOf(indexes, values ?? []);
      if (literal === null || params[literal.name] === literal.value) return { route, params };
    }
    return null;
  }

  methodsOf(path: string): string[] {
    return this.routes
      .filter((route) => new RegExp(`^${route.path.replace(PARAMETER_PATTERN, '[^/]+')}$`).test(path))
      .map(({ method }) => method);
  }
}

function paramsOf(
  indexes: Readonly<Record<string, string | number>>,
  values: readonly string[],
): Record<string, string> {
  const params: Record<string, string> = {};
  for (const name in indexes) {
    const value = values[indexes[name] as number] ?? '';
    params[name] = value.includes('%') ? decodeURIComponent(value) : value;
  }
  return params;
}

/**
 * The path for Hono's fastest router. That router supports no literal where another route has a parameter. Such a
 * literal becomes a parameter, and `match` compares the value of the parameter with the literal.
 */
function routerPath(path: string, routes: readonly Route[]) {
  const slashIndex = path.lastIndexOf('/');
  const [parent, last] = [path.slice(0, slashIndex), path.slice(slashIndex + 1)];
  const parameter = last.startsWith('{')
    ? undefined
    : routes
        .find((other) => other.path.startsWith(`${parent}/{`))
        ?.path.slice(parent.length + 2)
        .split('}')[0];
  const pattern = parameter === undefined ? path : `${parent}/{${parameter}}`;
  const literal = parameter === undefined ? null : { name: parameter, value: last };
  return { pattern: pattern.replace(PARAMETER_PATTERN, ':$1'), literal };
}
