import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { Link, useLocation } from 'wouter';
import { isUnauthenticated } from '../api/call.js';
import { scope } from '../api/scope.js';
import { useWhoami } from '../api/whoami.js';
import { useLive } from '../live/live.js';
import { PaletteButton } from '../palette/palette-button.js';
import { useInbox, usePausedInbox } from '../views/inbox/use-inbox.js';
import { CallerMark } from './caller-mark.js';
import { ConnectionMark } from './connection-mark.js';
import { KeyForm } from './key-form.js';
import { chooseTheme, readTheme, subscribeToTheme } from './theme.js';

const VIEWS = [
  ['/', 'Fleet'],
  ['/plan', 'Plan'],
  ['/runs', 'Runs'],
  ['/inbox', 'Inbox'],
  ['/features', 'Features'],
  ['/log', 'Log'],
] as const;

/** Navigation, project and connection around every view. The tab's title counts what waits for a person. */
export function Frame({ children }: { children: ReactNode }) {
  const { connection } = useLive();
  const { tenant, project } = scope();
  const isKeyRequired = isUnauthenticated(useWhoami().error) || connection.state === 'key_required';
  const count = useInbox(!isKeyRequired).items.length;
  usePausedInbox();
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${project} · Genesis Fleet`;
  }, [count, project]);
  return (
    <div className="frame">
      <header className="top">
        <a className="brand" href={tenant === 'default' ? '/' : `/?tenant=${encodeURIComponent(tenant)}`}>
          Genesis Fleet
        </a>
        <span className="project" title={project}>
          {project}
        </span>
        {isKeyRequired ? null : <PaletteButton />}
        <ConnectionMark />
        <CallerMark />
        <ThemeButton />
        <a href="/docs">API</a>
      </header>
      <nav className="views" aria-label="Views">
        {VIEWS.map(([path, name]) => (
          <ViewLink key={path} path={path} name={name} count={path === '/inbox' ? count : 0} />
        ))}
      </nav>
      <main>{isKeyRequired ? <KeyForm /> : children}</main>
    </div>
  );
}

function ViewLink({ path, name, count }: { path: string; name: string; count: number }) {
  const [current] = useLocation();
  const isCurrent = path === '/' ? current === '/' : current.startsWith(path);
  return (
    <Link href={path} aria-current={isCurrent ? 'page' : undefined}>
      {name}
      {count > 0 ? <span className="count">{count}</span> : null}
    </Link>
  );
}

function ThemeButton() {
  const theme = useSyncExternalStore(subscribeToTheme, readTheme);
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <button
      type="button"
      className="plain"
      onClick={() => chooseTheme(other)}
      aria-label={`Use the ${other} theme`}
    >
      {theme === 'dark' ? '☀' : '☾'}
    </button>
  );
}
