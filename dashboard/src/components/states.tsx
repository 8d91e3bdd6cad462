import type { ReactNode } from 'react';
import { CallFailure } from '../api/call.js';

export const Loading = () => <p className="quiet">Loading…</p>;

/** Says that there is nothing to show, and what to do. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children}
  </div>
);

export function Failure({ error }: { error: unknown }) {
  const code = error instanceof CallFailure ? error.code : 'ERROR';
  return (
    <p className="failure" role="alert">
      <b>{code}</b> {error instanceof Error ? error.message : String(error)}
    </p>
  );
}

interface QueryState<T> {
  readonly data: T | undefined;
  readonly error: unknown;
}

/** A reply, or the reason why there is none. A failed refresh keeps what was shown before. */
export function QueryResult<T>({
  query,
  children,
}: {
  query: QueryState<T>;
  children: (reply: T) => ReactNode;
}) {
  if (query.data === undefined) return query.error ? <Failure error={query.error} /> : <Loading />;
  return (
    <>
      {query.error ? <Failure error={query.error} /> : null}
      {children(query.data)}
    </>
  );
}
