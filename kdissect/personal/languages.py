"""Names of fields by language: one table, of what systems of a country call what a person has.

The phrases are as `words_of` returns them, or as people write them. A name that is a common word, too, is
under `any_name`: it counts only next to another field of a person.
"""

BY_LANGUAGE = {
    "Afrikaans": {
        "email": "epos, e pos, eposadres, e posadres, e pos adres, epos adres",
        "phone": (
            "selfoon, selfoonnommer, foon, telefoonnommer, kontaknommer, tel, sel, selfoonnr, "
            "telefoonnr, telefoon, huistelefoon, sel nommer, selnommer, kontak nommer"
        ),
        "iban": "rekeningnommer, bankrekening",
        "card": "kaartnommer, kredietkaart, kredietkaartnommer",
        "ip": "ip adres",
        "password": "wagwoord",
        "name": (
            "voornaam, noemnaam, familienaam, volle naam, volname, voorname, van en naam, naam en "
            "van, rekeninghouer, kaarthouer, naam van klient, nooiensvan, volle name"
        ),
        "person": "klient, gebruiker, pasient, ontvanger, passasier",
        "birth": "geboortedatum, geb datum, gebore, gebore op, geboorte datum",
        "address": (
            "straatadres, adres, woonadres, posadres, adreslyn, afleweringsadres, faktuuradres, "
            "huisadres, fisiese adres, straatnaam, straat, adres reel"
        ),
        "national": "identiteitsnommer, id nommer, identiteitsnr, identiteits nommer",
        "latitude": "breedtegraad",
        "longitude": "lengtegraad",
        "geo": "ligging, koordinate, gps ligging",
    },
    "Albanian": {
        "email": "posta elektronike, adresa e emailit",
        "phone": "telefoni, numri i telefonit, nr i telefonit, celulari, numri celularit",
        "iban": "llogaria bankare, numri i llogarise",
        "card": "numri i kartes",
        "ip": "adresa ip",
        "password": "fjalekalimi, fjalekalim",
        "name": "mbiemri, mbiemer, emri i plote, emri dhe mbiemri, emer mbiemer",
        "any_name": "emri, emer",
        "birth": "datelindja, data e lindjes, ditelindja, lindur me",
        "address": "adresa, rruga, vendbanimi, adresa e banimit",
        "national": "numri personal, nr personal, nid",
        "latitude": "gjeresia gjeografike",
        "longitude": "gjatesia gjeografike",
        "person": "klienti, perdoruesi",
    },
    "Arabic": {
        "email": "البريد الالكتروني, البريد الإلكتروني, بريد الكتروني, ايميل, الايميل",
        "phone": "الهاتف, رقم الهاتف, الجوال, رقم الجوال, الموبايل, هاتف, جوال, تلفون",
        "iban": "رقم الحساب, الحساب البنكي, الآيبان, ايبان",
        "card": "رقم البطاقة, بطاقة الائتمان",
        "ip": "عنوان ip, عنوان الآي بي",
        "password": "كلمة المرور, كلمة السر",
        "name": (
            "الاسم الكامل, الاسم الأول, اسم العائلة, الاسم الاول, الاسم الاخير, اللقب, اسم العميل, "
            "الاسم بالكامل"
        ),
        "any_name": "الاسم, اسم",
        "birth": "تاريخ الميلاد, تاريخ الولادة, الميلاد",
        "address": "العنوان, عنوان, الشارع, عنوان السكن, عنوان المنزل",
        "national": "رقم الهوية, الرقم القومي, الرقم الوطني, الهوية الوطنية, رقم الإقامة",
        "latitude": "خط العرض",
        "longitude": "خط الطول",
        "geo": "الموقع, الاحداثيات",
        "person": "العميل, المستخدم, المريض",
    },
    "Azerbaijani, Kazakh and Uzbek": {
        "email": "elektron poçt, e poçt, электрондық пошта, elektron pochta",
        "phone": "telefon nömrəsi, mobil nömrə, телефон нөмірі, telefon raqami, telefon raqam",
        "name": "soyad, ad soyad, тегі, аты жөні, familiya, ism familiya, toliq ism",
        "any_name": "ad, аты, ism",
        "birth": "doğum tarixi, туған күні, tugilgan sana, tugilgan kun",
        "address": "ünvan, мекенжай, manzil, yashash manzili",
        "password": "şifrə, құпиясөз, parol",
        "national": "жсн, pinfl, jshshir",
    },
    "Bulgarian": {
        "email": ("имейл, електронна поща, ел поща, мейл, емейл, e поща, имейл адрес, elektronna poshta"),
        "phone": (
            "телефон, мобилен, мобилен телефон, телефонен номер, gsm, тел, тел номер, мобилен номер, "
            "gsm номер, telefon, mobilen, обадете се на, моят номер е"
        ),
        "iban": "банкова сметка, сметка, номер на сметка, банкова сметка номер",
        "card": "номер на карта, карта, карта номер, кредитна карта",
        "ip": "ip адрес",
        "password": "парола",
        "name": (
            "собствено име, фамилия, фамилно име, презиме, пълно име, трите имена, лично име, бащино "
            "име, име и фамилия, имена, титуляр, име на клиент, familno ime, sobstveno ime, ime i "
            "familia"
        ),
        "any_name": "име, ime, familia, imena",
        "person": "клиент, потребител, купувач, получател, пациент, пътник",
        "birth": (
            "дата на раждане, рождена дата, data na razhdane, rozhdena data, роден, родена, роден "
            "на, дата раждане, дата на р"
        ),
        "address": (
            "адрес, улица, ulitsa, ул, адрес на доставка, адрес за доставка, постоянен адрес, "
            "настоящ адрес, домашен адрес, adres, ulica"
        ),
        "latitude": "ширина, географска ширина, geografska shirina",
        "longitude": "дължина, географска дължина, geografska dalzhina",
        "geo": "координати, местоположение, koordinati",
    },
    "Catalan": {
        "email": "correu, correu electronic, adreca electronica",
        "phone": "telefon, mobil, telefon mobil, numero de telefon",
        "iban": "compte bancari, numero de compte",
        "card": "numero de targeta, targeta",
        "ip": "adreca ip",
        "password": "contrasenya",
        "name": "cognom, cognoms, primer cognom, segon cognom, nom i cognoms, nom complet",
        "birth": "data de naixement, data naixement, naixement, nascut, nascuda",
        "address": "adreca, carrer, domicili, adreca postal",
        "person": "client, usuari, pacient",
    },
    "Chinese": {
        "email": (
            "邮箱, 电子邮件, 邮件, 電子郵件, 信箱, 电邮, 邮箱地址, 电子邮箱, 邮件地址, 電郵, "
            "電子信箱, youxiang, dianzi youjian, you xiang, dian zi you xiang, dian zi you jian, you "
            "jian"
        ),
        "phone": (
            "电话, 手机, 手机号, 手机号码, 电话号码, 联系电话, 電話, 手機, 電話號碼, shouji, "
            "dianhua, 移动电话, 联系方式, 联系人电话, 收货电话, 座机, 行動電話, 手機號碼, 聯絡電話, "
            "联络电话, dianhua haoma, shouji hao, shoujihao, lianxi dianhua, shou ji, shou ji hao, "
            "shou ji hao ma, dian hua, dian hua hao ma, lian xi dian hua, lian xi fang shi, yi dong "
            "dian hua"
        ),
        "iban": "银行账号, 银行账户, 银行卡号, 账号, 银行帐号, 帳號, 银行账户号",
        "card": (
            "卡号, 信用卡号, 信用卡, 银行卡, 卡号码, 借记卡号, 信用卡卡号, yinhangka, ka hao, yin "
            "hang ka hao, xin yong ka hao, xin yong ka"
        ),
        "ip": "ip 地址, ip, ip地址, 客户端ip",
        "password": "密码, 密碼, 口令, 登录密码, mima, mi ma, deng lu mi ma",
        "name": (
            "姓名, 真实姓名, 客户姓名, 联系人, 收件人, 收货人, xingming, 全名, 名称姓名, 持卡人, "
            "开户人, 户名, 收件人姓名, 收货人姓名, 患者姓名, 用户姓名, 申请人, 申请人姓名, 客戶姓名, "
            "聯絡人, xing ming, zhenshi xingming, zhen shi xing ming, ke hu xing ming, lian xi ren, "
            "shou jian ren, shou huo ren"
        ),
        "any_name": "名字, 姓, ming zi, xing, ming",
        "person": "客户, 用户, 患者, 乘客, 買家, 客戶, ke hu, yong hu",
        "birth": (
            "出生日期, 生日, 出生年月日, 出生, 出生日, 生日日期, 出生時間, shengri, chusheng riqi, "
            "chushengriqi, chu sheng ri qi, chu sheng, sheng ri, chu sheng nian yue ri"
        ),
        "address": (
            "地址, 住址, 详细地址, 收货地址, dizhi, 家庭住址, 家庭地址, 通讯地址, 联系地址, "
            "收件地址, 居住地址, 现住址, 街道, 街道地址, 寄送地址, 詳細地址, 收貨地址, 居住地, "
            "zhuzhi, jiating zhuzhi, xiangxi dizhi, di zhi, lian xi di zhi, jia ting zhu zhi, jia "
            "ting di zhi, zhu zhi, xiang xi di zhi, shou huo di zhi, ju zhu di zhi, tong xun di zhi, "
            "jie dao"
        ),
        "national": (
            "身份证号码, 证件号码, 证件号, 身份证件号码, 身份证编号, 證件號碼, 身分證字號, shen fen "
            "zheng hao ma, zheng jian hao, zheng jian hao ma"
        ),
        "latitude": "纬度, 緯度, weidu, wei du",
        "longitude": "经度, 經度, jingdu, jing du",
        "geo": "坐标, 座標, 经纬度, 位置, zuobiao, jing wei du, wei zhi",
    },
    "Croatian, Serbian and Bosnian": {
        "email": (
            "e posta, eposta, email adresa, adresa e poste, email, mail, elektronicka posta, е "
            "пошта, имејл, електронска пошта"
        ),
        "phone": (
            "telefon, mobitel, mobilni, broj mobitela, broj telefona, telefonski broj, tel, mob, "
            "mobilni telefon, mobilni broj, kontakt telefon, br telefona, br mobitela, телефон, "
            "мобилни, број телефона, мобилни телефон, nazovite na, nazovite me na, moj broj je"
        ),
        "iban": "broj racuna, racun, ziro racun, број рачуна",
        "card": "broj kartice, kartica, број картице",
        "ip": "ip adresa",
        "password": "lozinka, zaporka, лозинка",
        "name": (
            "prezime, ime i prezime, puno ime, vlasnik racuna, ime prezime, prezime i ime, puno ime "
            "i prezime, nositelj racuna, ime pacijenta, prezime pacijenta, vlasnik kartice, "
            "djevojacko prezime, презиме, име и презиме"
        ),
        "any_name": "ime, naziv, име",
        "person": "korisnik, kupac, klijent, pacijent, primatelj, putnik, osiguranik",
        "birth": (
            "datum rodenja, datum rođenja, datum rodjenja, rodenje, rođenje, dat rodenja, dat rod, "
            "datum rod, rodjen, roden, rodena, rodjenja, dan rodenja, датум рођења, рођен, рођена"
        ),
        "address": (
            "ulica, adresa, ulica i broj, adresa stanovanja, prebivaliste, adresa prebivalista, "
            "adresa dostave, adresa za dostavu, ulica i kucni broj, ulica broj, adresa boravista, "
            "adresa klijenta, адреса, улица, улица и број, пребивалиште"
        ),
        "latitude": "geografska sirina, geo sirina, sirina geografska, географска ширина",
        "longitude": "geografska duzina, geo duzina, географска дужина",
        "geo": "koordinate, lokacija, gps koordinate",
        "national": "јмбг",
    },
    "Danish and Norwegian": {
        "email": "epost, e post, epostadresse, e postadresse, mailadresse",
        "phone": (
            "mobilnummer, mobiltelefon, telefonnummer, tlf nr, mobil nr, telefon, mobil, "
            "kontakttelefon, mobil nummer, telefonnr privat, ring til mig pa, ring meg pa, mit "
            "nummer er, mitt nummer er"
        ),
        "iban": "kontonr, kontonummer",
        "card": "kortnr",
        "ip": "ip adresse",
        "password": "adgangskode, kodeord, passord",
        "name": (
            "fulde navn, kundens navn, kundenavn, for og etternavn, for og efternavn, "
            "kontoinnehaver, kontohaver, kortholder, pasientnavn, patientnavn, navn pa kunde"
        ),
        "any_name": "navn",
        "person": "bruger, bruker, pasient, mottaker, modtager, forsikrede, passasjer",
        "birth": "fodt den, fodselsdato, fodt, fodselsdag, fodt dato, fodedato, f dato, fdato",
        "address": (
            "gadenavn, gade, veinavn, postadresse, hjemmeadresse, leveringsadresse, bopaelsadresse, "
            "gateadresse, gatenavn, vejnavn og nr, adresselinje, folkeregistrert adresse, "
            "bostedsadresse, bopael, bosted, fakturaadresse"
        ),
        "national": "personidentifikator, nasjonalt id nummer",
        "latitude": "breddegrad",
        "longitude": "laengdegrad, lengdegrad",
        "geo": "placering, posisjon, koordinat, koordinater, gps posisjon",
    },
    "Dutch": {
        "email": "e mailadres, emailadres, mailadres",
        "phone": (
            "gsm nummer, gsmnummer, mobiel nummer, mobielnummer, telnummer, bel mij op, bel me op, "
            "telefoon, mobiel, mobiele telefoon, mobiele nummer, contactnummer, telefoon mobiel, "
            "telefoonnr, tel nr, bereikbaar op, mijn nummer is, te bereiken op"
        ),
        "iban": "bankrekening, bankrekeningnummer, rekeningnr",
        "card": "creditcardnummer, kaartnr",
        "latitude": "breedtegraad",
        "longitude": "lengtegraad",
        "ip": "ip adres",
        "password": "wachtwoord",
        "name": (
            "tussenvoegsel, naam klant, klantnaam, volledige naam, roepnaam, voornamen, "
            "geslachtsnaam, rekeninghouder, kaarthouder, naam rekeninghouder, naam patient, "
            "achternamen, meisjesnaam, tussenvoegsels"
        ),
        "person": "verzekerde, ontvanger, koper, huurder, reiziger",
        "birth": "geboren op, geb datum, gebdatum, geb dat, geboren, geboorte datum",
        "address": (
            "straat en huisnummer, woonadres, postadres, bezorgadres, factuuradres, huisadres, "
            "adres, adresregel, straat, straat en nummer, adreslijn, straat huisnummer, "
            "verzendadres, leveringsadres, bezoekadres, verblijfsadres"
        ),
        "national": "persoonsnummer, identiteitsnummer",
        "geo": "locatie, gps locatie, positie, coordinaten",
    },
    "English": {
        "email": (
            "email adr, email id, mail id, mail address, e mail address, email addr, contact mail, "
            "user mail, recipient mail"
        ),
        "phone": (
            "caller id, callerid, phone no, wa id, ph nbr, tel nbr, mob nbr, cell nbr, contact nbr, "
            "mobile no, mobile "
            "number, contact number, contact no, contact phone, mob no, reach me on, reach me at, "
            "call me on, mob nb, phne nb, cellphone, landline, home phone, work phone, phone nbr, "
            "phone num, phn, phn no, ph no, tel number, tel num, telephone number, telephone no, "
            "cell number, cell no, cell num, mobile num, mobile nr, day phone, daytime phone, "
            "evening phone, primary phone, secondary phone, emergency phone, contact tel, sms "
            "number, whatsapp number, text number, ring me on, text me on, ring me at, dial me on, "
            "my number is, phone contact, calling from, called from, callback, call back number, "
            "callback number, phone home, phone work, call me back at, call back at, phone me at, "
            "phone me on, call me under"
        ),
        "iban": (
            "acct iban, account iban, creditor iban, debtor iban, bank acct, beneficiary account, "
            "beneficiary iban, payee iban, payer iban, account no iban"
        ),
        "card": (
            "card num, card nbr, cc num, credit card, debit card, card nr, cardnumber, card pan, pan "
            "number, payment card, card account number, primary account number, credit card number, "
            "debit card number, ccnum, cc no"
        ),
        "ip": (
            "ip addr, caller ip, remote host, remote ip, source address, src ip, dst ip, dest ip, "
            "user ip, login ip, last ip, peer ip, host ip, x forwarded for, x real ip, true client "
            "ip, cf connecting ip, ip v4, ip v6, origin ip, visitor ip"
        ),
        "password": (
            "passphrase, pass phrase, login password, user password, account password, db password, "
            "root password, admin password, master password, app password, application password"
        ),
        "name": (
            "addressee, nome impresso, nombre impreso, embossed name, artist, forename, frst nm, lst nm, "
            "frst name, lst name, vorna, nachn, first nm, "
            "last nm, full "
            "nm, cust nm, customer nm, beneficiary name, payee name, payer name, debtor name, "
            "creditor name, passenger name, traveller name, user full name, father name, mother "
            "name, mothers maiden name, fathers name, preferred name, forenames, given names, family "
            "names, last names, first names, christian name, patient full name, full legal name, "
            "member name, student name, guest name, policyholder name, insured name, claimant name, "
            "applicant name, payer full name, client full name, user real name, emergency contact "
            "name, next of kin, next of kin name, spouse name, guardian name, name first, name last, "
            "name full, lastname firstname, surname and name, f name, l name, name of patient, name "
            "of customer, person full name, passenger full name, attendee name, participant name, "
            "name of account holder, name of cardholder, customer full name"
        ),
        "any_name": "nm, holder",
        "person": (
            "cdtr, dbtr, ultmt cdtr, ultmt dbtr, traveller, traveler, policyholder, policy holder, "
            "citizen, cust"
        ),
        "birth": (
            "born on, brth dt, brthdt, birth dte, dte of birth, bday, birth dt, date birth, birth "
            "day, d o b, date of birth, dt of birth, dateofbirth, birthdt, date of b, doby, birth "
            "date time, born date, birthdate date, b day, birthdate, birth ts, birth timestamp, dob "
            "ts, dob timestamp, dob epoch, birth epoch"
        ),
        "address": (
            "addr1, stras, str adr, strt adr, addr2, address2, addr line, adr line, strt nm, street "
            "name, street line, mailing address, residential address, permanent address, current "
            "address, residence, street addr, street 1, street1, street 2, street2, street line 1, "
            "address line 1, address line 2, addr ln, addr ln 1, addr ln 2, adr, adr1, adr ln, "
            "residential addr, home addr, mail addr, mailing addr, postal addr, delivery addr, "
            "shipping addr, ship addr, bill addr, billing addr, ship address, bill address, ship to "
            "address, bill to address, full address, complete address, registered address, "
            "correspondence address, legal address, work address, street and number, street no, "
            "street name and number, address full, address text, formatted address, customer "
            "address, patient address, thoroughfare, address lines, house street, lives at, living "
            "at, resides at"
        ),
        "national": (
            "personal identity code, national id number, nin, government id, identity no, citizen "
            "number, tax identification number, personal id code, ssn, national insurance nr, "
            "national id code, national identification no, citizen id number, citizen service "
            "number, resident id, personal number, personal identity number, personal identification "
            "number, individual tax number, social number, soc sec no, soc sec, social security no, "
            "social sec no"
        ),
        "geo": (
            "geo location, geo position, geo coordinates, gps position, gps coordinates, gps coords, "
            "lat lon, lng lat, lon lat, long lat, last location, last position, home location, map "
            "position"
        ),
    },
    "Estonian": {
        "email": (
            "epost, e post, meiliaadress, meil, e posti aadress, eposti aadress, e posti, epostiaadress"
        ),
        "phone": (
            "telefon, telefoninumber, mobiiltelefon, mobiil, tel, mob, mobiilinumber, mobiili "
            "number, telefoni number, kontakttelefon, mobiiltelefoni number, lauatelefon, helistage "
            "numbril, minu number on"
        ),
        "iban": "arveldusarve, kontonumber, pangakonto, konto, pangakonto number, iban",
        "card": "kaardi number, kaardinumber",
        "ip": "ip aadress",
        "password": "parool, salasona",
        "name": (
            "eesnimi, perekonnanimi, perenimi, taisnimi, ees ja perekonnanimi, ees ja perenimi, "
            "eesnimed, kontoomanik, kaardiomanik, patsiendi nimi, kliendi nimi, neiupolvenimi, "
            "isanimi"
        ),
        "any_name": "nimi",
        "person": "klient, kasutaja, ostja, patsient, saaja, reisija",
        "birth": (
            "sunniaeg, sunnikuupaev, sunnipaev, synniaeg, synnikuupaev, sunni aeg, sunnikp, synnikp, sundinud"
        ),
        "address": (
            "aadress, tanav, elukoht, postiaadress, koduaadress, elukoha aadress, tanava nimi, tanav "
            "ja maja, tarneaadress, arveaadress, kontaktaadress, aadressirida, alaline elukoht"
        ),
        "national": "isikukood",
        "latitude": "laiuskraad",
        "longitude": "pikkuskraad",
        "geo": "asukoht, koordinaadid",
    },
    "Filipino and Swahili": {
        "email": "barua pepe",
        "phone": "telepono, numero ng telepono, simu, nambari ya simu, namba ya simu",
        "name": (
            "apelyido, buong pangalan, unang pangalan, jina kamili, jina la kwanza, jina la mwisho, "
            "jina la ukoo"
        ),
        "any_name": "pangalan, jina",
        "birth": "petsa ng kapanganakan, kapanganakan, kaarawan, tarehe ya kuzaliwa",
        "address": "tirahan, anwani, makazi",
        "password": "neno la siri, nywila",
        "person": "mteja, mtumiaji",
    },
    "Finnish": {
        "email": "sahkopostiosoite, email, sposti, s posti, meili",
        "phone": (
            "matkapuhelin, matkapuhelinnumero, puhelinnro, puh, puhelinnumerot, kannykka, "
            "kannykkanumero, matkapuh, puhelin numero, yhteysnumero, yhteyspuhelin, puhelimen "
            "numero, puhelimeni, numeroni, soita numeroon, numeroni on"
        ),
        "iban": "tilinumero",
        "card": "korttinumero, luottokortin numero, maksukortti, kortin numero, kortin nro, kortti",
        "ip": "ip osoite",
        "password": "salasana, tunnussana",
        "name": (
            "etunimet, koko nimi, kutsumanimi, asiakkaan nimi, tilinomistaja, etu ja sukunimi, "
            "sukunimi ja etunimi, tilin omistaja, kortinhaltija, potilaan nimi, vastaanottajan nimi, "
            "sukunimet"
        ),
        "any_name": "nimi",
        "person": "asiakas, kayttaja, potilas, vastaanottaja, matkustaja",
        "birth": "syntymapaiva, synt aika, syntaika, syntymapvm, synt pvm, syntpvm",
        "address": (
            "lahiosoite, kotiosoite, postiosoite, toimitusosoite, laskutusosoite, osoite, katu, "
            "katuosoite, jakeluosoite, osoiterivi, asuinosoite, kotikatu, osoitteeni"
        ),
        "latitude": "leveyspiiri",
        "longitude": "pituuspiiri",
        "geo": "sijainti, koordinaatit, gps sijainti",
        "national": "henkilotunnukseni, hlotunnus, hlo tunnus",
    },
    "French": {
        "email": (
            "adresse mail, adresse email, adresse e mail, adresse electronique, courrier "
            "electronique, adresse courriel, mel"
        ),
        "phone": (
            "rappeler au, joignable au, appelez moi au, telephone portable, telephone mobile, tel "
            "portable, tel mobile, tel fixe, numero de telephone, num tel, no tel, numero telephone, "
            "numero portable, telephone fixe, numero de portable, gsm, num telephone, appeler au, "
            "mon numero est, me joindre au, contacter au, contactez moi au"
        ),
        "iban": "compte bancaire, numero de compte, no compte",
        "card": ("numero de carte, numero carte, num carte, carte bancaire, carte de credit, no carte"),
        "ip": "adresse ip",
        "password": "mdp, mot passe, motpasse",
        "name": (
            "nom client, nom du client, nom usuel, nom d usage, nom de naissance, nom et prenom, "
            "prenoms, nom prenom, prenom nom, nom patient, nom du patient, nom du titulaire, "
            "titulaire du compte, titulaire de la carte, nom beneficiaire, nom marital, nom epouse, "
            "nom assure"
        ),
        "any_name": "nom, titulaire",
        "person": "souscripteur, abonne, assure, destinataire, acheteur, locataire, titulaire",
        "birth": (
            "date naiss, dt naissance, ne le, nee le, ne e le, ddn, date de naiss, dt naiss, d "
            "naissance, nee, date nais"
        ),
        "address": (
            "adresse postale, adresse de livraison, adresse de facturation, numero et voie, adresse, "
            "adresse ligne, ligne adresse, ligne d adresse, adresse domicile, domicile, rue, rue et "
            "numero, voie, adresse complete, lieu de residence, adresse client, adresse du client"
        ),
        "national": "numero d identite, identifiant national",
        "geo": "localisation, emplacement, position gps, coordonnees gps, geolocalisation",
    },
    "Georgian and Armenian": {
        "email": "ელფოსტა, ელ ფოსტა, էլ փոստ",
        "phone": "ტელეფონი, მობილური, ტელეფონის ნომერი, հեռախոս, բջջային",
        "name": "გვარი, სახელი და გვარი, ազգանուն, անուն ազգանուն",
        "any_name": "სახელი, անուն",
        "birth": "დაბადების თარიღი, ծննդյան ամսաթիվ",
        "address": "მისამართი, ქუჩა, հասցե",
        "national": "პირადი ნომერი, პირადობის ნომერი",
        "password": "პაროლი, գաղտնաբառ",
    },
    "German": {
        "email": "e mail adresse, mailadresse, email adresse, emailadresse, kontakt email",
        "phone": (
            "rufen sie mich an, erreichbar unter, ruf mich an, telefon, telefon privat, telefon "
            "mobil, mobiltelefon, handynr, handy nr, mobilrufnummer, festnetz, festnetznummer, "
            "kontakttelefon, telefonnr, tel nr, rufen sie mich unter, rufe mich unter, mich unter, "
            "anrufen unter, zuruckrufen unter, melden unter, meine nummer ist, meine nummer"
        ),
        "iban": "bankkonto, kontonr, konto nr",
        "card": "kartennr, kreditkartennr, karten nr",
        "ip": "ip adresse",
        "password": "passwort, kennwort",
        "name": (
            "nachnamen, vornamen, vor und nachname, zuname, name des kunden, empfanger name, "
            "empfangername, rufname, geburtsname, vorname, nachname, familienname, vor und zuname, "
            "ganzer name, kundenname, patientenname, karteninhaber, name des karteninhabers, "
            "ansprechpartner, madchenname, vollstandiger name, versicherter name, mieter name"
        ),
        "any_name": "name",
        "person": (
            "nutzer, versicherter, versicherungsnehmer, kaufer, kaeufer, besteller, mieter, anspruchsteller"
        ),
        "birth": (
            "geb datum, geburts datum, geb dat, geboren am, geb am, geb, geburtsdat, gebdatum, "
            "gebdat, geburtsdatum"
        ),
        "address": (
            "strasse, strasse nr, strasse und hausnummer, strasse hausnummer, adresse, adresszeile, "
            "adress zeile, wohnadresse, wohnanschrift, privatadresse, postadresse, postanschrift, "
            "hausanschrift, kundenadresse"
        ),
        "national": "ausweisnummer, personenkennziffer",
        "latitude": "breite, geographische breite, geobreite",
        "longitude": "laenge, geographische laenge, geographische lange",
        "geo": "position, gps position, koordinate, geoposition, standortdaten",
    },
    "Greek": {
        "email": "ηλεκτρονικό ταχυδρομείο, ηλ ταχυδρομείο, διεύθυνση email, email, ημέιλ, μέιλ",
        "phone": (
            "τηλέφωνο, κινητό, κινητό τηλέφωνο, αριθμός τηλεφώνου, tilefono, kinito, τηλ, αριθμός "
            "κινητού, σταθερό τηλέφωνο, σταθερό, τηλέφωνο επικοινωνίας, αρ τηλεφώνου, kinito "
            "tilefono, thlefwno, thlefono, καλέστε με στο, το τηλέφωνό μου, ο αριθμός μου"
        ),
        "iban": "τραπεζικός λογαριασμός, λογαριασμός, αρ λογαριασμού, αριθμός λογαριασμού",
        "card": "αριθμός κάρτας, κάρτα, αρ κάρτας, πιστωτική κάρτα",
        "ip": "διεύθυνση ip",
        "password": "κωδικός πρόσβασης, συνθηματικό",
        "name": (
            "επώνυμο, επίθετο, ονοματεπώνυμο, eponymo, epitheto, onomateponymo, όνομα και επώνυμο, "
            "όνομα επώνυμο, πατρώνυμο, όνομα πατρός, όνομα πελάτη, επώνυμο πελάτη, δικαιούχος, "
            "κάτοχος κάρτας, ονομα ασθενούς, epwnymo, onomatepwnymo"
        ),
        "any_name": "όνομα, onoma",
        "person": "πελάτης, χρήστης, ασθενής, παραλήπτης, επιβάτης",
        "birth": (
            "ημερομηνία γέννησης, imerominia gennisis, hmerominia gennhsis, ημ γέννησης, ημερ "
            "γέννησης, ημνία γέννησης, γεννήθηκε, γέννηση, hm gennhshs, im gennisis"
        ),
        "address": (
            "διεύθυνση, οδός, διεύθυνση κατοικίας, diefthinsi, dieythynsi, odos, ταχυδρομική "
            "διεύθυνση, διεύθυνση αποστολής, διεύθυνση χρέωσης, οδός και αριθμός, κατοικία, δνση, δ "
            "νση, odos kai arithmos"
        ),
        "latitude": "γεωγραφικό πλάτος, πλάτος, geografiko platos",
        "longitude": "γεωγραφικό μήκος, γεωγρ μήκος, geografiko mikos",
        "geo": "συντεταγμένες, τοποθεσία, θέση",
    },
    "Hebrew": {
        "email": "דואל, דואר אלקטרוני, אימייל, מייל",
        "phone": "טלפון, נייד, טלפון נייד, מספר טלפון, סלולרי",
        "card": "מספר כרטיס, כרטיס אשראי",
        "ip": "כתובת ip",
        "password": "סיסמה, סיסמא",
        "name": "שם פרטי, שם משפחה, שם מלא, שם הלקוח, shem prati, shem mishpacha, shem male",
        "any_name": "שם",
        "birth": "תאריך לידה, יום הולדת, taarich leida",
        "address": "כתובת, רחוב, כתובת מגורים, כתובת למשלוח, ktovet, rehov",
        "latitude": "קו רוחב",
        "longitude": "קו אורך",
        "geo": "מיקום, קואורדינטות",
        "iban": "מספר חשבון",
        "person": "לקוח",
    },
    "Hindi and other languages of India": {
        "email": "ईमेल, ई मेल, ইমেইল, மின்னஞ்சல்",
        "phone": ("फोन, मोबाइल, मोबाइल नंबर, फ़ोन नंबर, दूरभाष, ফোন, মোবাইল, ফোন নম্বর, தொலைபேசி, கைபேசி"),
        "iban": "खाता संख्या, खाता नंबर",
        "card": "कार्ड नंबर, कार्ड संख्या",
        "password": "पासवर्ड",
        "name": "पूरा नाम, उपनाम, कुलनाम, ग्राहक का नाम, পুরো নাম, முழு பெயர்",
        "any_name": "नाम, নাম, பெயர்",
        "birth": "जन्म तिथि, जन्मतिथि, जन्म तारीख, জন্ম তারিখ, பிறந்த தேதி",
        "address": "पता, घर का पता, ঠিকানা, முகவரி",
        "national": "आधार, आधार संख्या, आधार नंबर, पैन",
        "person": "ग्राहक, उपयोगकर्ता",
    },
    "Hungarian": {
        "email": (
            "email cim, e mail cim, emailcim, levelezesi email, email, mail, drotposta, elektronikus levelcim"
        ),
        "phone": (
            "telefonszam, mobilszam, mobiltelefonszam, telefonszama, telefon, mobil, mobiltelefon, "
            "tel szam, telszam, mobil szam, vezetekes telefon, telefonszamom, hivjon a, a szamom"
        ),
        "iban": "bankszamlaszam, szamlaszam, bankszamla",
        "card": "kartyaszam, bankkartyaszam, bankkartya",
        "ip": "ip cim",
        "password": "jelszo",
        "name": (
            "keresztnev, utonev, vezeteknev, csaladnev, teljes nev, ugyfel neve, anyja neve, "
            "szuletesi nev, szamlatulajdonos, vezetek nev, kereszt nev, csaladi nev, teljesnev, "
            "leanykori nev, ugyfelnev, beteg neve, kartyabirtokos, szamlatulajdonos neve"
        ),
        "any_name": "nev",
        "person": "ugyfel, vasarlo, beteg, biztositott, felhasznalo, utas",
        "birth": (
            "szuletesi datum, szuletesi ido, szuletesi ev, szuletesnap, szuletett, szul datum, szul "
            "ido, szuldatum, szulido, szul"
        ),
        "address": (
            "lakcim, utca, cim, lakohely, szallitasi cim, szamlazasi cim, postacim, ertesitesi cim, "
            "cimsor, utca hazszam, utca es hazszam, kozterulet, allando lakcim, tartozkodasi hely"
        ),
        "national": "szemelyi szam, szemelyi azonosito",
        "latitude": "szelesseg, foldrajzi szelesseg, szelessegi fok",
        "longitude": "hosszusag, foldrajzi hosszusag, hosszusagi fok",
        "geo": "koordinatak, helyzet, gps pozicio, tartozkodasi hely koordinata",
    },
    "Icelandic": {
        "email": "netfang, tölvupóstur, tölvupóstfang",
        "phone": "sími, símanúmer, farsími, farsímanúmer, gsm, heimasími",
        "iban": "reikningsnúmer, bankareikningur",
        "card": "kortanúmer, greiðslukort",
        "ip": "ip tala",
        "password": "lykilorð, aðgangsorð",
        "name": "fornafn, eftirnafn, millinafn, fullt nafn, nafn viðskiptavinar, kenninafn",
        "any_name": "nafn",
        "person": "vidskiptavinur, notandi, sjuklingur, kaupandi, farthegi",
        "birth": "fæðingardagur, fæðingardagsetning, fæddur, fædd",
        "address": "heimilisfang, gata, póstfang, lögheimili, götuheiti, aðsetur, heimili",
        "latitude": "breiddargráða, breidd",
        "longitude": "lengdargráða",
        "geo": "staðsetning, hnit",
    },
    "Indonesian and Malay": {
        "email": "surel, alamat email, emel, e mail, email, alamat surel, alamat e mail",
        "phone": (
            "telepon, nomor telepon, no telepon, no telp, telp, no hp, nomor hp, nomor ponsel, "
            "ponsel, telefon bimbit, hp, nomor telp, telp rumah, no telefon, nombor telefon, no tel, "
            "no telepon rumah, handphone, no handphone, telefon, telepon seluler, no bimbit, hubungi "
            "saya di, hubungi, telepon saya di, nomor saya"
        ),
        "iban": "nomor rekening, no rekening",
        "card": "nomor kartu, kartu kredit, no kad, no kartu, nomor kartu kredit, nombor kad",
        "ip": "alamat ip",
        "password": "kata sandi, sandi, kata laluan, kata kunci, katasandi",
        "name": (
            "nama lengkap, nama depan, nama belakang, nama pelanggan, nama penuh, nama keluarga, "
            "nama ibu kandung, nama ibu, nama pemilik, nama pemegang kartu, nama pasien, nama "
            "penerima, nama pesakit, nama pemilik rekening, nama panggilan"
        ),
        "any_name": "nama",
        "person": "pelanggan, nasabah, pengguna, pembeli, penerima, pasien, penumpang, pesakit",
        "birth": (
            "tanggal lahir, tgl lahir, tarikh lahir, tgl lhr, tanggal lhr, lahir, hari lahir, tarikh "
            "kelahiran"
        ),
        "address": (
            "alamat, alamat rumah, alamat lengkap, jalan, alamat pengiriman, alamat penagihan, "
            "alamat tinggal, alamat domisili, alamat surat, alamat ktp, alamat penghantaran, alamat "
            "baris"
        ),
        "national": "nomor identitas, no identitas, no pengenalan",
        "latitude": "lintang, garis lintang, latitud",
        "longitude": "bujur, garis bujur, longitud",
        "geo": "koordinat, lokasi, posisi, lokasi gps, kedudukan",
    },
    "Italian": {
        "email": "posta elettronica, indirizzo email, indirizzo mail, email, mail, e mail, pec",
        "phone": (
            "numero di telefono, numero telefono, num telefono, telefono cellulare, cell, recapito "
            "telefonico, telefono, tel, cellulare, telefono mobile, n telefono, nr telefono, "
            "recapito, telefono fisso, chiamami al, chiamatemi al, il mio numero e, contattarmi al, "
            "chiamare il"
        ),
        "iban": "conto corrente",
        "card": "numero carta, numero di carta, carta di credito",
        "ip": "indirizzo ip",
        "password": "parola d ordine",
        "name": (
            "nome completo, cognome e nome, nominativo, nome cliente, nome del cliente, intestatario "
            "conto, cognomi, nome paziente, cognome paziente, nome intestatario, titolare conto, "
            "titolare carta, nome utente completo"
        ),
        "any_name": "intestatario, nome, titolare, prenome",
        "person": "acquirente, assicurato, intestatario, passeggero, paziente",
        "birth": (
            "nato il, nata il, data nasc, data nascita, dt nascita, nato, nata, dnascita, data di nasc"
        ),
        "address": (
            "indirizzo di residenza, residenza, via e numero, indirizzo di spedizione, indirizzo "
            "spedizione, indirizzo, via piazza, indirizzo completo, indirizzo cliente, recapito "
            "postale, domicilio, indirizzo di consegna, indirizzo fatturazione, riga indirizzo"
        ),
        "national": "numero identita",
        "geo": "coordinate gps, posizione gps, geolocalizzazione, coordinate geografiche",
    },
    "Japanese": {
        "email": (
            "メールアドレス, 電子メール, メール, eメール, mailアドレス, eメールアドレス, "
            "電子メールアドレス, メルアド, メアド, 連絡先メール, meru adoresu"
        ),
        "phone": (
            "電話番号, 電話, 携帯電話, 携帯番号, 携帯, denwa bango, denwabango, denwa, keitai, "
            "連絡先電話番号, 携帯電話番号, 自宅電話, 連絡先, tel, keitai denwa, denwabangou, "
            "keitaibango"
        ),
        "iban": "口座番号, koza bango, 銀行口座, 銀行口座番号",
        "card": "カード番号, クレジットカード番号, クレジットカード, クレカ番号, クレジット番号",
        "ip": "ipアドレス, 接続元ip, 送信元ip, クライアントip",
        "password": "パスワード, 暗証番号, pass ワード",
        "name": (
            "氏名, 姓名, 苗字, 名字, フルネーム, 口座名義, 名義人, 氏名カナ, 名前カナ, shimei, "
            "myoji, 契約者名, 顧客名, お客様名, お客様氏名, 申込者名, 受取人, 受取人名, 宛名, "
            "患者名, 会員名, カード名義, 名義, 氏, フリガナ, ふりがな, カナ氏名, 姓カナ, 名カナ, "
            "セイ, メイ, full name kana, 氏名漢字, お届け先氏名"
        ),
        "any_name": "名, 姓, 名前, お名前, 下の名前, sei, mei, namae",
        "person": "顧客, お客様, 会員, 患者, 購入者, 利用者, kokyaku",
        "birth": ("生年月日, 誕生日, seinengappi, tanjobi, 誕生年月日, 生年, 出生日, seinen gappi, birthday"),
        "address": (
            "住所, 現住所, jusho, juusho, 自宅住所, 送付先住所, 配送先住所, お届け先住所, "
            "請求先住所, 番地, 町名番地, 住所1, 住所2, 所在地住所, 送り先, 住居, haisosaki, jyusho"
        ),
        "national": "身分証番号",
        "latitude": "緯度, ido",
        "longitude": "経度, keido",
        "geo": "位置情報, 座標, 位置, 緯度経度",
    },
    "Korean": {
        "email": "이메일, 이메일주소, 전자우편, 메일주소, 메일, 전자메일, 전자우편주소, imeil",
        "phone": (
            "전화번호, 휴대폰번호, 휴대폰, 휴대전화, 핸드폰, 핸드폰번호, 연락처, hp no, hp num, "
            "phone no, 휴대전화번호, 전화, 연락처번호, 휴대폰연락처, 집전화, 자택전화, 유선전화, "
            "모바일, 휴대번호, jeonhwa, jeonhwa beonho, hyudaepon, hpno"
        ),
        "iban": "계좌번호, 은행계좌, 계좌, 은행계좌번호",
        "card": "카드번호, 신용카드번호, 체크카드번호, 결제카드번호",
        "ip": "ip주소, 아이피, 접속ip, 아이피주소, 접속아이피, 클라이언트ip",
        "password": "비밀번호, 패스워드, 암호, 비번",
        "name": (
            "성명, 고객명, 고객이름, 예금주, 수령인, 수취인, 성함, 이름성명, 회원명, 회원이름, "
            "환자명, 환자이름, 수령자, 수령자명, 받는사람, 받는분, 신청자, 신청자명, 사용자이름, "
            "예금주명, 카드소유자, 고객성함, irum, seongmyeong, ireum"
        ),
        "any_name": "이름, 성",
        "person": "고객, 회원, 환자, 사용자, 승객, 구매자",
        "birth": ("생년월일, 생일, 출생일, 출생일자, 출생년월일, 생년월, 생일날짜, saengnyeonwolil, saengil"),
        "address": (
            "주소, 배송지, 도로명주소, 거주지, juso, 집주소, 자택주소, 배송주소, 배송지주소, "
            "청구지주소, 상세주소, 지번주소, 수령지, 거주지주소, 도로명, 기본주소, jusoo"
        ),
        "national": "주민등록번호, 주민번호",
        "latitude": "위도, wido",
        "longitude": "경도, gyeongdo",
        "geo": "좌표, 위치, 위경도",
    },
    "Latvian": {
        "email": "epasts, e pasts, epasta adrese, e pasta adrese, elektroniskais pasts",
        "phone": (
            "telefons, talrunis, talruna numurs, mobilais, mobilais talrunis, telefona numurs, tel, "
            "mob, tel nr, telefons mobilais, mobila talruna numurs, mob talrunis, mobtalrunis, "
            "kontakttalrunis, talr, mob tel, mobtel, zvaniet pa, mans numurs ir"
        ),
        "iban": "konta numurs, bankas konts",
        "card": "kartes numurs",
        "ip": "ip adrese",
        "password": "parole",
        "name": (
            "uzvards, vards uzvards, pilns vards, vards un uzvards, klienta vards, klienta uzvards, "
            "pacienta vards, konta ipasnieks, kartes ipasnieks, pirmais vards, dzimtais uzvards"
        ),
        "any_name": "vards",
        "person": "klients, lietotajs, pircejs, pacients, sanemejs, pasazieris",
        "birth": (
            "dzimsanas datums, dzimsanas diena, dzim datums, dzim dat, dzimdatums, dzimis, dzimusi, "
            "dz datums, dzimsanas dati"
        ),
        "address": (
            "adrese, iela, dzivesvieta, pasta adrese, dzivesvietas adrese, deklareta adrese, "
            "faktiska adrese, piegades adrese, majas adrese, norekinu adrese, klienta adrese, adrese "
            "rinda"
        ),
        "national": "personas kods",
        "latitude": "platuma grads, geografiskais platums, platums",
        "longitude": "garuma grads, geografiskais garums",
        "geo": "koordinatas, atrasanas vieta",
    },
    "Lithuanian": {
        "email": (
            "el pastas, elpastas, el pasto adresas, elektroninis pastas, elektroninio pasto adresas, "
            "el p, elp, pastas"
        ),
        "phone": (
            "telefonas, telefono numeris, mobilusis, mobilusis telefonas, tel nr, tel, mob, mob tel, "
            "mobilaus telefono numeris, mobilus, telefono nr, kontaktinis telefonas, mobilusis nr, "
            "mobtel, telefonas mobilus, skambinkite, mano numeris"
        ),
        "iban": "saskaitos numeris, banko saskaita",
        "card": "korteles numeris",
        "ip": "ip adresas, ip",
        "password": "slaptazodis",
        "name": (
            "pavarde, vardas pavarde, vardas ir pavarde, pilnas vardas, pavarde vardas, kliento "
            "vardas, kliento pavarde, paciento vardas, saskaitos savininkas, korteles savininkas, "
            "mergautine pavarde, pilnas vardas ir pavarde"
        ),
        "any_name": "vardas",
        "person": "klientas, naudotojas, pirkejas, pacientas, gavejas, keleivis",
        "birth": (
            "gimimo data, gimimo diena, gim data, gimdata, gimes, gimusi, gimimo, gimimo metai data, g data"
        ),
        "address": (
            "adresas, gatve, gyvenamoji vieta, namu adresas, gyvenamosios vietos adresas, pristatymo "
            "adresas, saskaitos adresas, registracijos adresas, gatve ir namas, deklaruota "
            "gyvenamoji vieta, kliento adresas, gyv vieta"
        ),
        "national": "asmens id, asmens tapatybes numeris",
        "latitude": "platuma, geografine platuma",
        "longitude": "ilguma, geografine ilguma",
        "geo": "koordinates, buvimo vieta",
    },
    "Macedonian": {
        "email": "е пошта, електронска пошта, имејл",
        "phone": "телефон, мобилен, телефонски број, број на телефон",
        "iban": "број на сметка, жиро сметка",
        "card": "број на картичка",
        "ip": "ип адреса",
        "password": "лозинка",
        "name": "презиме, име и презиме, полно име",
        "any_name": "име",
        "birth": "датум на раѓање, роден, родена, роденден",
        "address": "адреса, улица, место на живеење",
        "national": "ембг, матичен број",
        "person": "корисник, клиент",
    },
    "Maltese and Irish": {
        "email": "indirizz tal email, ríomhphost, seoladh ríomhphoist",
        "phone": "numru tat telefon, mowbajl, guthán, fón, uimhir ghutháin, fón póca",
        "name": "kunjom, isem u kunjom, sloinne, céadainm, ainm iomlán",
        "any_name": "isem, ainm",
        "birth": "data tat twelid, twelid, dáta breithe",
        "address": "indirizz, triq, seoladh, sráid",
        "national": "numru tal karta tal identita, numru tal id, uimhir psp, upsp",
        "password": "pasfocal, focal faire",
    },
    "Persian and Urdu": {
        "email": "ایمیل, پست الکترونیک, ای میل",
        "phone": "تلفن, موبایل, تلفن همراه, شماره تلفن, شماره موبایل, فون نمبر, موبائل نمبر",
        "iban": "شماره حساب, شماره شبا, شبا",
        "card": "شماره کارت",
        "password": "رمز عبور, گذرواژه, پاس ورڈ",
        "name": "نام خانوادگی, نام و نام خانوادگی, نام کامل, پورا نام",
        "any_name": "نام",
        "birth": "تاریخ تولد, تاریخ پیدائش",
        "address": "آدرس, نشانی, پتہ",
        "national": "کد ملی, شماره ملی, شناختی کارڈ نمبر",
        "person": "مشتری, کاربر",
    },
    "Polish": {
        "email": "adres email, adres e mail, poczta elektroniczna",
        "phone": (
            "numer telefonu, nr telefonu, telefon komorkowy, nr tel, numer komorki, tel kom, telefon "
            "kontaktowy, numer kontaktowy, kom, zadzwonic pod, dzwonic pod numer, moj numer to, pod "
            "numerem, pod numer"
        ),
        "iban": "nr konta, numer rachunku, nr rachunku, rachunek bankowy",
        "card": "numer karty, nr karty, karta platnicza",
        "ip": "adres ip",
        "password": "haslo",
        "name": (
            "pelne imie, imie nazwisko, nazwisko rodowe, drugie imie, imie klienta, nazwisko "
            "klienta, pierwsze imie, nazwisko panienskie, imiona, wlasciciel konta, posiadacz karty, "
            "posiadacz, "
            "odbiorca nazwisko"
        ),
        "any_name": "imie, nazwa",
        "person": "uzytkownik, odbiorca, pacjent, nabywca, pasazer, ubezpieczony",
        "birth": "data ur, data urodz, urodzony, urodzona, ur dnia, dzien urodzenia, rok ur",
        "address": (
            "adres zamieszkania, adres zameldowania, adres dostawy, adres korespondencyjny, adres "
            "klienta, ulica i numer, ulica nr, adres domowy, adres rozliczeniowy, adres wysylki"
        ),
        "geo": "wspolrzedne, polozenie, lokalizacja, wspolrzedne gps",
        "latitude": "szer geogr, szer geo",
        "longitude": "dl geogr, dl geo",
    },
    "Portuguese": {
        "email": "correio eletronico, endereco email, endereco de email, e mail, mail",
        "phone": (
            "telefone, tel, celular, telefone celular, telefone fixo, telemovel, numero de telefone, "
            "numero telefone, num telefone, numero celular, nr telemovel, numero telemovel, fone, "
            "telefone contato, contato telefonico, telemovel numero, ligue para, me ligue no, meu "
            "numero e, ligar para, contactar pelo"
        ),
        "iban": "conta bancaria, numero da conta, conta",
        "card": "numero do cartao, numero cartao, num cartao, cartao de credito, cartao credito",
        "ip": "endereco ip",
        "password": "senha, palavra passe, palavrapasse",
        "name": (
            "nome do cliente, nome cliente, nome do titular, nome social, nome da mae, primeiro "
            "nome, ultimo nome, nome completo, nome proprio, sobrenomes, nomes proprios, nome "
            "paciente, nome do paciente, titular do cartao, titular da conta, nome titular, nome "
            "beneficiario, nome mae, nome pai"
        ),
        "any_name": "nome, titular, prenome",
        "person": "utilizador, paciente, comprador, segurado, passageiro, titular",
        "birth": (
            "nascido, nascida, nascido em, nascida em, data de nasc, data nasc, dt nascimento, dt "
            "nasc, dtnasc, nasc, data nascim"
        ),
        "address": (
            "morada, endereco, rua, logradouro, endereco de entrega, endereco entrega, morada de "
            "entrega, morada de faturacao, endereco cobranca, endereco residencial, endereco "
            "completo, linha endereco, domicilio"
        ),
        "national": "documento de identidade, numero de identidade, bilhete identidade",
        "geo": "localizacao, coordenadas gps, posicao gps, geolocalizacao",
    },
    "Romanian": {
        "email": ("adresa email, adresa de email, adresa e mail, posta electronica, email, mail, posta"),
        "phone": (
            "nr telefon, telefon mobil, nr de telefon, numar mobil, telefon, tel, mobil, telefon "
            "fix, numar de mobil, numar contact, sunati la, suna la, numarul meu este, numarul meu"
        ),
        "iban": "cont iban, cont bancar",
        "card": "numar card, numar de card, nr card",
        "ip": "adresa ip",
        "password": "parola",
        "name": (
            "nume familie, nume si prenume, titular cont, nume client, prenume, nume complet, nume "
            "pacient, nume titular, titularul contului, nume de familie, nume beneficiar"
        ),
        "any_name": "nume, titular",
        "person": (
            "client, destinatar, cumparator, pacient, abonat, asigurat, beneficiar, utilizator, pasager"
        ),
        "birth": "data nasterii, data nastere, nascut la, nascut, nascuta, data nast, dat nasterii",
        "address": (
            "adresa, domiciliu, adresa de livrare, resedinta, strada, adresa domiciliu, adresa de "
            "domiciliu, adresa facturare, adresa de facturare, adresa livrare, adresa completa, "
            "adresa corespondenta, adresa client"
        ),
        "national": "cod numeric personal",
        "geo": "coordonate, locatie, pozitie gps, coordonate gps",
    },
    "Russian": {
        "email": (
            "почта, электронная почта, эл почта, имейл, адрес электронной почты, мейл, емейл, "
            "электронный адрес, e почта, elektronnaya pochta, pochta"
        ),
        "phone": (
            "телефон, номер телефона, мобильный, мобильный телефон, контактный телефон, тел, моб, "
            "моб тел, мобильный номер, номер мобильного, контактный номер, сотовый, сотовый телефон, "
            "домашний телефон, рабочий телефон, telefon, nomer telefona, mobilnyy, позвоните мне по, "
            "звоните по, мой номер, по номеру, по телефону"
        ),
        "iban": "номер счета, банковский счет, расчетный счет, счет",
        "card": ("номер карты, банковская карта, карта номер, кредитная карта, номер банковской карты"),
        "ip": "ip адрес, ip",
        "password": "пароль, parol",
        "name": (
            "фамилия, отчество, фио, полное имя, familiya, otchestvo, имя и фамилия, имя фамилия, "
            "фамилия имя, фамилия имя отчество, ф и о, имя клиента, фамилия клиента, владелец карты, "
            "девичья фамилия, получатель фио, polnoe imya, imya familiya"
        ),
        "any_name": "имя, imya, fio",
        "person": "клиент, пользователь, покупатель, получатель, пациент, пассажир",
        "birth": (
            "дата рождения, день рождения, data rozhdeniya, дата рожд, др, д р, год рождения дата, "
            "родился, родилась, data rozhd"
        ),
        "address": (
            "адрес, улица, адрес проживания, адрес регистрации, место жительства, adres, домашний "
            "адрес, почтовый адрес, адрес доставки, фактический адрес, юридический адрес, ул, улица "
            "дом, адрес клиента, ulitsa"
        ),
        "national": "паспорт, снилс",
        "latitude": "широта, shirota",
        "longitude": "долгота, dolgota",
        "geo": "координаты, местоположение, геопозиция, koordinaty",
    },
    "Slovak and Czech": {
        "email": (
            "emailova adresa, e mailova adresa, email, e mail, elektronicka adresa, elektronicka posta"
        ),
        "phone": (
            "mobil, cislo mobilu, tel cislo, telefonni cislo, telefonne cislo, mobilni cislo, "
            "mobilne cislo, cislo mobilniho telefonu, kontaktni telefon, kontaktny telefon, mobilny "
            "telefon, volejte na, zavolejte na, muj telefon je, moje cislo je, volajte na"
        ),
        "iban": "cislo uctu, bankovni ucet, bankovy ucet",
        "card": "cislo karty, platobna karta, platebni karta",
        "ip": "ip adresa",
        "password": "heslo",
        "name": (
            "krstne meno, meno a priezvisko, jmeno a prijmeni, cele meno, krestni, rodne jmeno, "
            "rodne prijmeni, jmeno zakaznika, meno zakaznika, prijmeni zakaznika, priezvisko "
            "zakaznika, titular, majitel uctu, drzitel karty"
        ),
        "any_name": "jmeno, meno, nazev",
        "person": "zakaznik, uzivatel, pouzivatel, pacient, prijemce, prijemca, cestujici",
        "birth": (
            "datum narodenia, narodeny, narozen, dat nar, dat narozeni, dat narodenia, nar, "
            "narozena, narodena, datum nar, den narozeni"
        ),
        "address": (
            "ulica a cislo, adresa bydliska, trvaly pobyt, bydlisko, ulice a cislo, ulice cp, adresa "
            "trvaleho pobytu, dorucovaci adresa, dodacia adresa, dodaci adresa, fakturacni adresa, "
            "fakturacna adresa, korespondencni adresa, adresa bydliste, adresa zakaznika"
        ),
        "national": "osobni cislo, identifikacni cislo",
        "latitude": "zemepisna sirka, zemep sirka, sirka zemepisna",
        "longitude": "zemepisna delka, zemepisna dlzka, zemep delka",
        "geo": "souradnice, suradnice, poloha, gps poloha, gps souradnice",
    },
    "Slovene": {
        "email": (
            "e posta, eposta, elektronska posta, e naslov, email, mail, e poštni naslov, elektronski naslov"
        ),
        "phone": (
            "telefon, telefonska stevilka, mobilni telefon, gsm, tel, mobitel, gsm stevilka, tel "
            "stevilka, kontaktni telefon, mobilna stevilka, poklicite na, poklicite me na, moja "
            "stevilka je"
        ),
        "iban": "stevilka racuna, bancni racun, transakcijski racun, trr",
        "card": "stevilka kartice",
        "ip": "ip naslov",
        "password": "geslo",
        "name": (
            "priimek, ime in priimek, polno ime, ime priimek, priimek in ime, imetnik racuna, "
            "imetnik kartice, dekliski priimek"
        ),
        "any_name": "ime",
        "person": "stranka, uporabnik, kupec, pacient, prejemnik, potnik",
        "birth": "datum rojstva, rojstni datum, rojen, dat rojstva, dat roj, datum roj, rojena",
        "address": (
            "naslov, ulica, ulica in hisna stevilka, stalno prebivalisce, bivalisce, naslov "
            "bivalisca, naslov dostave, ulica in stevilka, naslov stranke, zacasno prebivalisce, "
            "naslov za dostavo, stalni naslov"
        ),
        "latitude": "zemljepisna sirina, geografska sirina",
        "longitude": "zemljepisna dolzina, geografska dolzina",
        "geo": "koordinate, lokacija, polozaj",
    },
    "Spanish": {
        "email": (
            "correo electronico, e mail, correo, correo e, direccion de correo, direccion email, "
            "direccion correo, mail"
        ),
        "phone": (
            "telefono movil, numero de telefono, celular, telefono celular, nro telefono, fono, "
            "llameme al, llamame al, telefono, tel movil, movil, numero movil, numero celular, num "
            "telefono, num celular, tel celular, telefono fijo, telefono contacto, telefono de "
            "contacto, nro celular, numero de celular, nro movil, nro de telefono, tel contacto, "
            "cel, nro cel, llamar al, mi numero es, mi telefono es, contactarme al, localizable en "
            "el"
        ),
        "iban": ("cuenta bancaria, numero de cuenta, cuenta, nro cuenta, num cuenta, cuenta corriente, ccc"),
        "card": (
            "numero tarjeta, numero de tarjeta, nro tarjeta, num tarjeta, tarjeta de credito, "
            "tarjeta credito, tarjeta de debito, tarjeta debito"
        ),
        "ip": "direccion ip, ip cliente",
        "password": "contrasena, contraseña, clave de acceso, clave acceso",
        "name": (
            "apellido paterno, apellido materno, nombre y apellido, nombre cliente, primer nombre, "
            "segundo nombre, nombre del cliente, nombre del titular, nombre de pila, primer "
            "apellido, segundo apellido, apellido 1, apellido 2, apellido1, apellido2, ape1, ape2, "
            "nombre completo, nombres y apellidos, nombre y apellidos, apellidos y nombre, nombre "
            "paciente, nombre titular, titular cuenta, titular tarjeta, nombre beneficiario, "
            "apellido p, apellido m, apellido y nombre, apellidos y nombres, nombres apellidos, "
            "apellidos nombres, ap paterno, ap materno, apellido pat, apellido mat"
        ),
        "any_name": "nombre, titular",
        "person": "comprador, asegurado, abonado, pasajero, titular",
        "birth": (
            "nacido, nacida, nacido el, nacida el, fecha de nac, fecha nac, fec nacimiento, f "
            "nacimiento, fecha nacim, fec nac, fnac, f nac, fecha de nacim, fechanac, dia de "
            "nacimiento"
        ),
        "address": (
            "domicilio particular, calle y numero, calle numero, direccion postal, direccion, "
            "domicilio, calle, calle y no, direccion de envio, direccion envio, direccion de "
            "facturacion, direccion fiscal, domicilio fiscal, linea de direccion, direccion linea, "
            "direccion completa, direccion cliente, dir postal"
        ),
        "national": "documento de identidad, numero de identidad, cedula de identidad",
        "geo": ("coordenadas gps, posicion, posicion gps, geolocalizacion, ubicacion gps, geoubicacion"),
    },
    "Swedish": {
        "email": "e postadress, epostadress",
        "phone": (
            "telefonnummer, mobiltelefon, mobilnr, tel nr, telefon, mobil, mobilnummer, "
            "kontakttelefon, hemtelefon, ring mig pa, nas pa, mitt nummer ar"
        ),
        "card": "kortnr, kreditkort",
        "ip": "ip adress",
        "name": (
            "fornamn, tilltalsnamn, kundnamn, namn pa kund, hela namnet, for och efternamn, "
            "kontoinnehavare, kortinnehavare, patientnamn, mottagarens namn"
        ),
        "any_name": "namn",
        "person": "anvandare, mottagare, passagerare, forsakrad",
        "birth": "fodd den, fodelsedag, fodd datum, foddatum, fodelsedatum, fod dat",
        "address": (
            "gatunamn, postadress, hemadress, leveransadress, folkbokforingsadress, gata, gata och "
            "nummer, adressrad, bostadsadress, fakturaadress, utdelningsadress"
        ),
        "national": "personligt id, personid",
        "geo": "plats, position, gps position, koordinat",
    },
    "Thai": {
        "email": "อีเมล, อีเมล์, จดหมายอิเล็กทรอนิกส์",
        "phone": ("โทรศัพท์, เบอร์โทรศัพท์, เบอร์โทร, หมายเลขโทรศัพท์, มือถือ, เบอร์มือถือ, โทรศัพท์มือถือ"),
        "card": "หมายเลขบัตร, บัตรเครดิต, เลขบัตรเครดิต",
        "password": "รหัสผ่าน",
        "name": "ชื่อ นามสกุล, ชื่อนามสกุล, นามสกุล, ชื่อจริง, ชื่อลูกค้า, ชื่อเต็ม",
        "any_name": "ชื่อ",
        "birth": "วันเกิด, วันเดือนปีเกิด",
        "address": "ที่อยู่, บ้านเลขที่, ที่อยู่จัดส่ง",
        "latitude": "ละติจูด",
        "longitude": "ลองจิจูด",
        "geo": "พิกัด, ตำแหน่ง",
        "iban": "เลขที่บัญชี, หมายเลขบัญชี",
        "ip": "ที่อยู่ ip",
        "person": "ลูกค้า",
    },
    "Turkish": {
        "email": (
            "e posta, eposta, e posta adresi, eposta adresi, mail adresi, mail, elektronik posta, "
            "email adresi, e postam, epostam, mailim"
        ),
        "phone": (
            "telefon, telefon numarasi, telefon no, cep telefonu, gsm no, cep tel, telefonum, "
            "telefon numaram, cep no, cep numarasi, tel, tel no, irtibat telefonu, iletisim "
            "numarasi, ev telefonu, is telefonu, gsm, gsm numarasi, mobil, numaramdan, numarasindan "
            "arayin, beni su numaradan"
        ),
        "iban": "hesap no, hesap numarasi, banka hesabi",
        "card": "kart no, kart numarasi, kredi karti, kart numaram, kredi kartim",
        "latitude": "enlem",
        "longitude": "boylam",
        "ip": "ip adresi",
        "password": "sifre, şifre, parola",
        "name": (
            "soyad, soyadi, soyisim, adi soyadi, ad soyad, isim soyisim, tam ad, musteri adi, ad "
            "soyadi, adsoyad, isim soyad, musteri ad soyad, musteri soyadi, kart sahibi, hesap "
            "sahibi, baba adi, anne adi, kizlik soyadi, hasta adi, alici adi, ilk ad, ikinci ad, ilk "
            "isim, adim soyadim"
        ),
        "any_name": "adi, isim, ad",
        "person": "musteri, kullanici, sigortali, hasta, alici, yolcu, abone",
        "birth": (
            "dogum tarihi, dogum gunu, dogum, dogum trh, dogum tar, dogumtarihi, d tarihi, dtarihi, "
            "dogum t, dogumlu, dogum tarihim"
        ),
        "address": (
            "adres, adresi, ev adresi, teslimat adresi, sokak, cadde, acik adres, ikamet adresi, "
            "fatura adresi, ev adres, is adresi, adres satiri, adres satir, acik adresi, ikametgah, "
            "mahalle sokak, cadde sokak, teslimat adres, adresim"
        ),
        "national": "kimlik no, kimlik numarasi, kimlik numaram",
        "geo": "konum, koordinat, koordinatlar, gps konum",
    },
    "Ukrainian": {
        "email": ("пошта, електронна пошта, ел пошта, імейл, мейл, емейл, електронна адреса, e пошта"),
        "phone": (
            "телефон, номер телефону, мобільний, мобільний телефон, тел, моб, моб тел, мобільний "
            "номер, контактний телефон, номер мобільного, telefon, зателефонуйте за номером, мій "
            "номер, за номером, за телефоном"
        ),
        "iban": "номер рахунку",
        "card": "номер картки, карта, платіжна картка, картка",
        "ip": "ip адреса, ip",
        "password": "пароль, гасло",
        "name": (
            "прізвище, по батькові, піб, повне імя, prizvyshche, імя та прізвище, прізвище імя, "
            "прізвище імя по батькові, імя клієнта, прізвище клієнта, власник картки, дівоче "
            "прізвище, pib"
        ),
        "any_name": "імя, імʼя, imya",
        "person": "клієнт, користувач, покупець, отримувач, пацієнт, пасажир",
        "birth": (
            "дата народження, data narodzhennya, дата нар, д н, народився, народилася, день народження"
        ),
        "address": (
            "адреса, вулиця, місце проживання, vulytsya, домашня адреса, поштова адреса, адреса "
            "доставки, адреса проживання, адреса реєстрації, вул, vulytsia, adresa"
        ),
        "latitude": "широта, shyrota",
        "longitude": "довгота, dovhota",
        "geo": "координати, місцезнаходження, розташування",
    },
    "Vietnamese": {
        "email": "thu dien tu, dia chi email, email, thư điện tử, địa chỉ email, hom thu",
        "phone": (
            "so dien thoai, dien thoai, sdt, điện thoại, số điện thoại, sđt, số đt, so dt, di dong, "
            "di động, số di động, so di dong, dtdd, đtdđ, số điện thoại di động"
        ),
        "iban": "so tai khoan, số tài khoản, stk",
        "card": "so the, số thẻ, so the tin dung, số thẻ tín dụng",
        "ip": "dia chi ip, địa chỉ ip",
        "password": "mat khau, mật khẩu, mat ma, mật mã",
        "name": (
            "ho ten, ho va ten, ten day du, họ tên, họ và tên, ho va ten dem, họ và tên đệm, ten "
            "khach hang, tên khách hàng, họ và tên khách hàng, chu tai khoan, chủ tài khoản, chu "
            "the, chủ thẻ, tên đầy đủ, nguoi nhan, người nhận, ten nguoi nhan, ho ten khach hang"
        ),
        "any_name": "ten, tên, ho, họ",
        "person": "khach hang, nguoi dung, nguoi mua, benh nhan, hanh khach, khách hàng",
        "birth": (
            "ngay sinh, ngày sinh, sinh ngay, sinh ngày, ngay thang nam sinh, ngày tháng năm sinh, "
            "nam sinh ngay"
        ),
        "address": (
            "dia chi, địa chỉ, noi o, dia chi nha, dia chi giao hang, địa chỉ giao hàng, noi o hien "
            "tai, nơi ở, thuong tru, thường trú, địa chỉ thường trú, dia chi thuong tru, tam tru, "
            "tạm trú"
        ),
        "national": ("cccd, cmnd, căn cước công dân, số cccd, so cccd, so cmnd, can cuoc, số định danh"),
        "latitude": "vi do, vĩ độ",
        "longitude": "kinh do, kinh độ",
        "geo": "toa do, tọa độ, vi tri, vị trí",
    },
}
