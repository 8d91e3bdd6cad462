import { readFileSync } from 'node:fs';

type SqlValues = Readonly<Record<string, string | number>>;

/** The text of a named statement, with its placeholders filled. */
export type SqlStatements = (name: string, values?: SqlValues) => string;

/**
 * Reads a file of SQL statements. Each begins with a line `-- name: x`; comments directly below that line are left out.
 * `${y}` stands for the value y or, if there is none, for the statement y. Values are identifiers and numbers, never data.
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

/** The statements in SQL text. Semicolons in comments, and between the `$$` of a function body, separate nothing. */
export const splitStatements = (text: string): string[] =>
  (text.match(/(?:--.*|\$\$[\s\S]*?\$\$|[^;])+/g) ?? []).map((statement) => statement.trim());
