import { open } from 'node:fs/promises';

/**
 * Reads a file that the command line names, also through a link or from a pipe. Returns null if it has more than `bytesMax`
 * bytes: nothing of a larger file is read, and a pipe only until it exceeds the limit.
 */
export async function readBoundedFile(path: string, bytesMax: number): Promise<Buffer | null> {
  const file = await open(path);
  try {
    if ((await file.stat()).size > bytesMax) return null;
    // A pipe has no size, and a file may grow while it is read.
    return await readBounded(file.createReadStream({ autoClose: false }), bytesMax);
  } finally {
    await file.close();
  }
}

/** All bytes of a stream; null, and the rest is not read, if it has more than `bytesMax`. */
export async function readBounded(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Buffer | null> {
  const kept: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > bytesMax) return null;
    kept.push(chunk);
  }
  return Buffer.concat(kept);
}
