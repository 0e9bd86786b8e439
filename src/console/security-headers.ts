import type { RequestHandler } from 'express';
import helmet from 'helmet';

const none = ["'none'"];
const self = ["'self'"];

const setHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      formAction: self,
      frameAncestors: none,
      baseUri: none,
    },
  },
  // Whether all of a host speaks TLS is for its proxy to say.
  strictTransportSecurity: false,
  // Nothing is told to other sites; to ourselves, the origin shows that a form is our own.
  referrerPolicy: { policy: 'same-origin' },
});

/** For every page: nothing but our own files, no script or style within a page. */
export const pageHeaders: RequestHandler = (req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  setHeaders(req, res, next);
};
