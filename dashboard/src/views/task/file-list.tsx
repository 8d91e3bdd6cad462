import { Disclosure } from '../../components/disclosure.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { BlobDifference, BlobView } from './blob-view.js';
import { compareFiles, type FileChange, type ResultFile, sizeText } from './result-content.js';

const FILES_SHOWN_MAX = 200;
const TONES = { added: 'mark-good', changed: 'mark-warn', removed: 'mark-bad', same: '' } as const;

/** The files of a result, each opened on request; compared with the files of the accepted result, if there is one. */
export function FileList({
  files,
  accepted = null,
}: {
  files: readonly ResultFile[];
  accepted?: readonly ResultFile[] | null;
}) {
  const changes = compareFiles(accepted ?? [], files);
  const shown = changes.slice(0, FILES_SHOWN_MAX);
  return (
    <ul className="files">
      {shown.map((change) => (
        <li key={change.path}>
          <FileEntry {...change} isCompared={accepted !== null} />
        </li>
      ))}
      {shown.length < changes.length ? (
        <li className="quiet">{changes.length - shown.length} more files</li>
      ) : null}
    </ul>
  );
}

function FileEntry({ path, change, before, after, isCompared }: FileChange & { isCompared: boolean }) {
  const title = (
    <>
      <span className="mono">
        <UntrustedText text={path} />
      </span>{' '}
      <span className="quiet">{sizeText((after ?? before)?.size_bytes ?? 0)}</span>{' '}
      {isCompared ? <span className={`mark ${TONES[change]}`}>{change}</span> : null}
    </>
  );
  return (
    <Disclosure title={title}>
      {() =>
        isCompared && change !== 'same' ? (
          <BlobDifference before={before?.sha256 ?? null} after={after?.sha256 ?? null} />
        ) : (
          <BlobView sha256={(after ?? before)?.sha256 ?? ''} name={path} />
        )
      }
    </Disclosure>
  );
}
