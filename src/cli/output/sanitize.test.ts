import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { paintFor } from './paint.js';
import { collapseControls, markSequences, sanitize } from './sanitize.js';
import { SanitizedOutput } from './sanitized-output.js';

const RED = '\u001b[31m';
const DEFAULT_COLOUR = '\u001b[39m';
const paint = paintFor({ columns: 80, env: {} });

describe('sanitize', () => {
  it.each([
    ['an escape sequence', '\u001b[2J', '\\u001b[2J'],
    ['a style that no painter made', `${RED}red`, '\\u001b[31mred'],
    ['a title or clipboard sequence', '\u001b]52;c;eA==\u0007', '\\u001b]52;c;eA==\\u0007'],
    ['an 8-bit sequence', '\u009b2J', '\\u009b2J'],
    ['delete and backspace', 'a\u007f\b', 'a\\u007f\\u0008'],
    ['a carriage return on its own', 'a\rb', 'a\\u000db'],
    ['the line end of another system', 'a\r\nb', 'a\nb'],
    ['a bidirectional override', '\u202etxt', '\\u202etxt'],
    ['a zero-width space', 'a\u200bb', 'a\\u200bb'],
    ['an invisible tag', '\u{e0041}', '\\udb40\\udc41'],
    ['a guessed mark', `\u001b{${'0'.repeat(32)}}[2J`, `\\u001b{${'0'.repeat(32)}}[2J`],
  ])('escapes %s', (_, text, shown) => {
    expect(sanitize(text)).toBe(shown);
  });

  it('keeps text of every script, emoji, tabs and line feeds unchanged', () => {
    const text = 'naïve 日本 עברית می\u200cخواهم 👩\u200d💻\ttab\nline';
    expect(sanitize(text)).toBe(text);
  });

  it('keeps the value of any JSON unchanged', () => {
    const every = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).join('');
    const value = { [every.slice(0, 0xd800)]: `${every.slice(0, 0xd800)}\u{e0041}${every.slice(0xe000)}` };
    expect(JSON.parse(sanitize(JSON.stringify(value)))).toEqual(value);
  });

  it('passes marked sequences through', () => {
    expect(sanitize(markSequences('\u001b[H\u001b[2J'))).toBe('\u001b[H\u001b[2J');
  });
});

describe('paint', () => {
  it('colours text, also inside another colour', () => {
    const text = paint.bold(`all ${paint.red('some')} rest`);
    expect(sanitize(text)).toBe(`\u001b[1mall ${RED}some${DEFAULT_COLOUR} rest\u001b[22m`);
    expect(sanitize(paint.green(`a${paint.red('b')}c`))).toContain(`b\u001b[32mc${DEFAULT_COLOUR}`);
  });

  it('escapes every sequence in the painted text', () => {
    expect(sanitize(paint.red(`x\u001b[2J${RED}`))).toBe(`${RED}x\\u001b[2J\\u001b[31m${DEFAULT_COLOUR}`);
  });
});

it('replaces each run of control characters with one space on a single line', () => {
  expect(collapseControls('a\u001b\u0007\n\tb\u202ec')).toBe('a b c');
});

describe('SanitizedOutput', () => {
  class Slow extends Writable {
    readonly written: string[] = [];
    private waiting: (() => void)[] = [];
    override _write(chunk: Buffer, _: string, done: () => void): void {
      this.written.push(chunk.toString('utf8'));
      this.waiting.push(done);
    }
    proceed(): void {
      for (const done of this.waiting.splice(0)) done();
    }
  }

  it('writes at once and in order, and never joins half a character with other text', () => {
    const written: string[] = [];
    const target = new Writable({ write: (chunk, _, done) => done(void written.push(String(chunk))) });
    const output = new SanitizedOutput(target);
    for (const chunk of [[0xc2], [0x9b], [0xc2]]) output.write(Buffer.from(chunk));
    output.write('text');
    expect(written).toEqual(['\\u009b', '\ufffdtext']);
  });

  it('waits for a slow reader', async () => {
    const target = new Slow({ highWaterMark: 4 });
    const output = new SanitizedOutput(target);
    let isDone = false;
    output.write('more than four', () => {
      isDone = true;
    });
    expect(isDone).toBe(false);
    const drained = new Promise((resolve) => target.once('drain', resolve));
    target.proceed();
    await drained;
    await new Promise(setImmediate);
    expect(isDone).toBe(true);
  });
});
