import { readFileSync } from 'node:fs';

type SqlValues = Readonly<Record<string, string | number>>;

/** The text of a named statement, with its placeholders filled. */
export type SqlStatements = (name: string, values?: SqlValues) => string;

/**
 * Reads a file of SQL statements. A line `-- name: x` begins each, and comments below it are not part of it. `${y}`
 * stands for a value or, if there is none, for the statement of that name. Values are identifiers and numbers, never data.
 */
export function readSqlFile(url: URL, constants: SqlValues = {}): SqlStatements {
  const texts = new Map<string, string>();
  for (const section of readFileSync(url, 'utf8')
    .split(/^-- name: /m)
    .slice(1)) {
    const [, name = '', text = ''] = /^(\w+)\n(?:--.*\n)*([\s\S]*?);?\s*$/.exec(section) ?? [];
    texts.set(name, text);
  }
  const statement: SqlStatements = (name, values = {}) => {
    const text = texts.get(name);
    if (text === undefined) throw new Error(`${url.pathname} has no statement ${name}.`);
    return text.replace(/\$\{(\w+)\}/g, (_, key: string) =>
      String(values[key] ?? constants[key] ?? statement(key, values)),
    );
  };
  return statement;
}

/** The statements in SQL text. Semicolons in comments, and between `$$` in the body of a function, do not separate statements. */
export const splitStatements = (text: string): string[] =>
  (text.match(/(?:--.*|\$\$[\s\S]*?\$\$|[^;])+/g) ?? []).map((statement) => statement.trim());
