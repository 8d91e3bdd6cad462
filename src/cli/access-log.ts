import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ServerLogOptions } from '../server/log/logs.js';
import { addMissingCliIgnores } from '../workspace/git-ignore.js';
import type { CommandContext } from './context.js';
import { wrongUsage } from './exit.js';
import { cliFolder } from './state/cli-folder.js';

/** The name of the default file. It is in the CLI's folder (`.genesis/`), beside the embedded log, and in no store. */
const ACCESS_LOG_NAME = 'access.log';
const PRIVATE_FOLDER = 0o700;

export interface AccessLog {
  readonly options: ServerLogOptions;
  /**
   * Opens the default file when a server that requires credentials starts: a notice about the file must not wait for a
   * request. Without effect on a log that `--access-log` names, which is open already.
   */
  open(): Promise<void>;
  close(): Promise<void>;
}

const NO_LOG: AccessLog = { options: {}, open: async () => {}, close: async () => {} };

/** The access log of a server, by the value of `--access-log`. Lines that cannot be written are lost, and counted. */
export async function openAccessLog(context: CommandContext, option: string | undefined): Promise<AccessLog> {
  if (option === 'off') return NO_LOG;
  return option === undefined ? defaultLog(context) : namedLog(context, option);
}

/**
 * The default access log, written while requests need a credential. If no file can be written, the lines go to standard
 * error.
 */
async function defaultLog(context: CommandContext): Promise<AccessLog> {
  const { jsonLineSink } = await import('../server/log/logs.js');
  const { rotatedLog } = await import('../server/log/log-file.js');
  const preparePath = async (): Promise<string> => {
    const folder = cliFolder(context.io);
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    await addMissingCliIgnores(folder);
    return join(folder, ACCESS_LOG_NAME);
  };
  const file = rotatedLog({
    preparePath,
    onUnwritable: ({ code, message }) =>
      context.warn(
        `The access log cannot be written to a file (${code ?? message}): its lines go to standard error. Pass ` +
          '--access-log FILE for another file, or --access-log off.',
      ),
    onFailure: lostLinesNotice(context, ACCESS_LOG_NAME),
  });
  const write = jsonLineSink(file.writer);
  return {
    options: {
      log: (line) => {
        // Errors also go to the error log, which is standard error: there they must not be written twice.
        if (line.level !== 'error' || !file.isOnStandardError) write(line);
      },
      shouldLogOpenMode: false,
      lostLogLines: () => file.writer.lostLineCount,
    },
    open: () => file.open(),
    close: () => file.close(),
  };
}

/** The log in the given file; `-` is standard error. It is opened before the store, so that an unwritable path fails early. */
async function namedLog(context: CommandContext, file: string): Promise<AccessLog> {
  const { jsonLineSink } = await import('../server/log/logs.js');
  const { openLogFile, standardErrorLog } = await import('../server/log/log-file.js');
  const isStandardError = file === '-';
  const { writer, close } = isStandardError
    ? standardErrorLog()
    : await openLogFile(resolve(context.io.cwd, file), lostLinesNotice(context, file)).catch(({ code }) => {
        throw wrongUsage(
          `--access-log ${file}: this path cannot be written (${code}). Pass a file in an existing folder that this user ` +
            'may write to, a pipe that has a reader, - for standard error, or off.',
        );
      });
  const log = jsonLineSink(writer);
  const errors = isStandardError ? { errorLog: log } : {};
  return { ...NO_LOG, options: { log, ...errors, lostLogLines: () => writer.lostLineCount }, close };
}

const lostLinesNotice =
  (context: CommandContext, name: string) =>
  ({ code }: NodeJS.ErrnoException): void =>
    context.printNotice(
      `The access log ${name} cannot be written (${code}). Lines are lost until this is fixed: check its disk and permissions.`,
    );
