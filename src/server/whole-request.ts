const HEAD_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 64;
const HEAD_END = '\r\n\r\n';

/** Method and target of a request line. A target that is not a path is left to Node. */
const REQUEST_LINE = /(GET|POST|PUT|DELETE) (\/[!"$-~]*) HTTP\/1\.1\r\n/y;
/** A header of printable ASCII. Headers with a tab are left to Node, which reads some of them in another way. */
const HEADER_LINE = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):([ -~]*)\r\n/y;

/** Headers that change how a message is read or answered. `Content-Length` and `Connection` are read here instead. */
const SPECIAL_HEADERS: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'upgrade',
  'expect',
  'trailer',
  'proxy-connection',
  'http2-settings',
]);
const CONTENT_LENGTH = /^\d{1,6}$/;

/** A complete and unambiguous request. */
export interface WholeRequest {
  readonly method: string;
  readonly path: string;
  /** The query with its question mark, or empty. */
  readonly search: string;
  /** By name in lower case. */
  readonly headers: HeaderMap;
  readonly body: Uint8Array;
  readonly isKeptAlive: boolean;
}

/**
 * Reads the received bytes as exactly one complete request, as nearly all are. Returns null for everything else, valid or
 * not, which Node's parser reads instead. Accepts nothing that another parser could read in another way.
 */
export function readWholeRequest(bytes: Buffer): WholeRequest | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0 || headEnd > HEAD_BYTES_MAX) return null;
  // Includes the line break of the last header, so that every line ends with a line break.
  const head = bytes.toString('latin1', 0, headEnd + 2);
  REQUEST_LINE.lastIndex = 0;
  const line = REQUEST_LINE.exec(head);
  if (line === null) return null;
  const headers = headersOf(head.slice(REQUEST_LINE.lastIndex));
  if (headers === null || !headers.has('host')) return null;
  const connection = (headers.get('connection') ?? 'keep-alive').toLowerCase();
  if (connection !== 'keep-alive' && connection !== 'close') return null;
  const contentLength = headers.get('content-length') ?? '0';
  if (!CONTENT_LENGTH.test(contentLength)) return null;
  const bodyStart = headEnd + HEAD_END.length;
  if (bodyStart + Number(contentLength) !== bytes.length) return null;
  const target = line[2] as string;
  const queryStart = target.indexOf('?');
  return {
    method: line[1] as string,
    path: queryStart === -1 ? target : target.slice(0, queryStart),
    search: queryStart === -1 ? '' : target.slice(queryStart),
    headers,
    body: bytes.subarray(bodyStart),
    isKeptAlive: connection === 'keep-alive',
  };
}

type HeaderMap = ReadonlyMap<string, string>;

/** Maximum number of texts of headers whose map is kept, and of the characters of such a text. */
const KEPT_HEADERS_MAX = 1000;
const KEPT_HEADERS_LENGTH_MAX = 1024;
/** Recent texts of headers: most clients send the same ones with each request, and reading them again takes much longer. */
const recentHeaders = new Map<string, HeaderMap>();

function headersOf(text: string): HeaderMap | null {
  const known = recentHeaders.get(text);
  if (known !== undefined) return known;
  const headers = readHeaders(text);
  if (headers === null || text.length > KEPT_HEADERS_LENGTH_MAX) return headers;
  if (recentHeaders.size >= KEPT_HEADERS_MAX) recentHeaders.clear();
  // A copy, because the text is a slice that would keep the whole request line in memory.
  recentHeaders.set(Buffer.from(text, 'latin1').toString('latin1'), headers);
  return headers;
}

/** Null if a header occurs twice, is special or has characters that are left to Node, or if there are too many headers. */
function readHeaders(text: string): HeaderMap | null {
  const headers = new Map<string, string>();
  for (let at = 0; at < text.length; at = HEADER_LINE.lastIndex) {
    HEADER_LINE.lastIndex = at;
    const line = HEADER_LINE.exec(text);
    if (line === null || headers.size === HEADERS_MAX) return null;
    const name = (line[1] as string).toLowerCase();
    if (headers.has(name) || SPECIAL_HEADERS.has(name)) return null;
    headers.set(name, (line[2] as string).trim());
  }
  return headers;
}
