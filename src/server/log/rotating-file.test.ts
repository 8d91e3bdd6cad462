import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LogLineWriter } from './line-writer.js';
import { RotatingFile } from './rotating-file.js';

/** Two lines of four bytes fit into a file. */
const LIMITS = { file_bytes_max: 9, old_files_max: 2 };

async function rotatingFile() {
  const folder = await mkdtemp(join(tmpdir(), 'rotating-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'access.log');
  const file = new RotatingFile(path, LIMITS);
  onTestFinished(() => file.close());
  const readTexts = async (): Promise<Record<string, string>> => {
    const names = (await readdir(folder)).sort();
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')])),
    );
  };
  return { folder, path, file, readTexts };
}

/** Writes the lines as one batch, and resolves when they are written or lost. */
async function writeLines(file: RotatingFile, ...lines: string[]): Promise<number> {
  const writer = new LogLineWriter(file.append);
  for (const line of lines) writer.write(line);
  await writer.close();
  return writer.lostLineCount;
}

test('keeps whole lines in files of a limited size, and a limited number of files', async () => {
  const { file, readTexts } = await rotatingFile();
  const lost = await writeLines(file, ...Array.from({ length: 9 }, (_, line) => `${line}ab\n`));
  expect(lost).toBe(0);
  expect(await readTexts()).toEqual({
    'access.log': '8ab\n',
    'access.log.1': '6ab\n7ab\n',
    'access.log.2': '4ab\n5ab\n',
  });
});

test('counts the bytes that were in the file before it was opened', async () => {
  const { path, file, readTexts } = await rotatingFile();
  await writeFile(path, 'old\nold\n');
  await writeLines(file, 'new\n');
  expect(await readTexts()).toEqual({ 'access.log': 'new\n', 'access.log.1': 'old\nold\n' });
});

test('writes a line that is longer than a file into a separate file', async () => {
  const { file, readTexts } = await rotatingFile();
  await writeLines(file, 'a\n', 'longer than nine\n', 'b\n');
  expect(await readTexts()).toEqual({
    'access.log': 'b\n',
    'access.log.1': 'longer than nine\n',
    'access.log.2': 'a\n',
  });
});

test('completes an incomplete line before it begins a new file', async () => {
  const { file, readTexts } = await rotatingFile();
  await file.append(Buffer.from('12345678'));
  await writeLines(file, '90\n', 'next\n');
  expect(await readTexts()).toEqual({ 'access.log': 'next\n', 'access.log.1': '1234567890\n' });
});

test('leaves the old files alone if another process has renamed the file already', async () => {
  const { path, file, readTexts } = await rotatingFile();
  await writeLines(file, '1ab\n', '2ab\n');
  await rename(path, `${path}.1`);
  await writeLines(file, '3ab\n');
  expect(await readTexts()).toEqual({ 'access.log': '3ab\n', 'access.log.1': '1ab\n2ab\n' });
});

test('only the owner can read the files, even if others could read the first one before', async () => {
  const { folder, path, file } = await rotatingFile();
  await writeFile(path, 'old\n');
  await chmod(path, 0o644);
  await writeLines(file, '1ab\n', '2ab\n', '3ab\n');
  const modes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).mode & 0o777);
  expect(await Promise.all(modes)).toEqual([0o600, 0o600]);
});

test('never writes through a link', async () => {
  const { folder, path, file, readTexts } = await rotatingFile();
  await writeFile(join(folder, 'precious'), 'of another program');
  await symlink('precious', path);
  await expect(file.open()).rejects.toMatchObject({ code: 'ELOOP' });
  expect(await writeLines(file, 'a\n')).toBe(1);
  expect((await readTexts()).precious).toBe('of another program');
});

test('loses and counts the lines while it cannot begin a new file, and resumes', async () => {
  const { folder, file, readTexts } = await rotatingFile();
  await writeLines(file, '1ab\n', '2ab\n');
  // A folder with the name of an old file blocks the rotation.
  await writeFile(join(folder, 'access.log.1'), 'old\n');
  const blocking = join(folder, 'access.log.2');
  await mkdir(blocking);
  expect(await writeLines(file, '3ab\n', '4ab\n')).toBe(2);
  await rm(blocking, { recursive: true });
  expect(await writeLines(file, '5ab\n')).toBe(0);
  expect(await readTexts()).toEqual({
    'access.log': '5ab\n',
    'access.log.1': '1ab\n2ab\n',
    'access.log.2': 'old\n',
  });
});
