import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readSqlFile, type SqlStatements, splitStatements } from './sql-file.js';

function statementsOf(text: string): SqlStatements {
  const folder = mkdtempSync(join(tmpdir(), 'sql-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.sql');
  writeFileSync(file, text);
  return readSqlFile(pathToFileURL(file), { limit: 7 });
}

describe('an SQL file', () => {
  it('returns statements by name, without the comments below the name', () => {
    const sql = statementsOf(
      '-- About the file.\n\n-- name: a\n-- Why.\nSELECT 1;\n\n-- name: b\nSELECT 2 -- two\n',
    );
    expect([sql('a'), sql('b')]).toEqual(['SELECT 1', 'SELECT 2 -- two']);
  });

  it('fills placeholders with values, constants and other statements, and refuses unknown placeholders', () => {
    const sql = statementsOf(`-- name: a\n\${b} LIMIT \${limit};\n-- name: b\nSELECT $1 FROM \${table}\n`);
    expect(sql('a', { table: 't' })).toBe('SELECT $1 FROM t LIMIT 7');
    expect(() => sql('a')).toThrow('has no statement table');
  });

  it('is split at semicolons, except those in comments and in the bodies of functions', () => {
    const body = 'DO $$\nBEGIN\n  a; -- b\nEND $$';
    expect(splitStatements(`-- Not here; no.\nSELECT 1;\n\n${body};`)).toEqual([
      '-- Not here; no.\nSELECT 1',
      body,
    ]);
  });

  it.each(['postgres', 'mysql'])('has every statement that %s uses, and no other', (database) => {
    const folder = join(import.meta.dirname, database);
    const modulesOf = (path: string) =>
      readdirSync(path)
        .filter((name) => /(?<!test)\.ts$/.test(name))
        .map((name) => readFileSync(join(path, name), 'utf8'));
    const code = [...modulesOf(folder), ...modulesOf(join(import.meta.dirname, 'sql'))].join('');
    const queries = readFileSync(join(folder, 'queries.sql'), 'utf8');
    const named = [...queries.matchAll(/^-- name: (\w+)$/gm)].map(([, name]) => name);
    const used = [...code.matchAll(/\b(?:sql|rows|query|queryAs)(?:<[^(]*>)?\('([a-z_]+)'/g)].map(
      ([, name]) => name,
    );
    expect(used.filter((name) => !named.includes(name))).toEqual([]);
    expect(named.filter((name) => !code.includes(`'${name}'`) && !queries.includes(`\${${name}}`))).toEqual(
      [],
    );
  });
});
